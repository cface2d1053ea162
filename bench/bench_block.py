#!/usr/bin/env python3
"""How many tokens per second does a block of a language model compute, dense and as a mixture of experts?

    bench_block.py --shapes > block.csv              # what to tune: rooftile tune --shapes block.csv --budget 300s
    bench_block.py build/examples/example_transformer_block [--rounds 7] [--ggml libggml-vulkan.so]

Runs examples/transformer_block.cpp with the sizes of Qwen3 1.7B (dense) and with 128 experts of which 8 are chosen, of the sizes
of Qwen3 30B A3B's: both multiply a token with as many weights. Prefill of 128 tokens, and decode of one token after 128.
The four take turns; prints medians with the median absolute deviation, and the mixture's speed over the dense one's of each round.
With --ggml, ggml's graph of each of the four (ggml_block.py) takes its turn behind ours, with the same weights; a software device
needs GGML_VK_VISIBLE_DEVICES=0. Its y has to be ours but for ggml's roundings."""
import argparse
import re
import statistics
import subprocess
import tempfile

WIDTH, HEADS, KV_HEADS, TOKENS = 2048, 16, 8, 128
DENSE, EXPERT, EXPERTS, CHOSEN = 6144, 768, 128, 8  # hidden sizes; CHOSEN * EXPERT = DENSE
KINDS = {"dense": ["--hidden", DENSE], "mixture": ["--hidden", EXPERT, "--moe", EXPERTS, "--top-k", CHOSEN]}
PHASES = {"prefill": ["--tokens", TOKENS, "--past", 0, "--runs", 2], "decode": ["--tokens", 1, "--past", TOKENS, "--runs", 20]}
GGML_RUNS = {"prefill": 1, "decode": 10}  # it is slower


def shapes():
    head = WIDTH // HEADS
    print("m,n,k,trans_a,trans_b,batch,type,epilogue,groups,skew,note")
    for m in (1, TOKENS):
        context = TOKENS if m > 1 else TOKENS + 1
        for n, k, epilogue in ((WIDTH, WIDTH, ""), (KV_HEADS * head, WIDTH, ""), (DENSE, WIDTH, ""), (WIDTH, WIDTH, "residual"),
                               (WIDTH, DENSE, "residual")):
            print(f"{m},{n},{k},0,1,1,f32xq4_k,{epilogue},,,projections and dense MLP")
        print(f"{m},{context},{head},0,1,{KV_HEADS},f32,,,,scores")
        print(f"{m},{head},{context},0,0,{KV_HEADS},f32,,,,values")
        print(f"{m},{EXPERTS},{WIDTH},0,1,1,f32,,,,router")
        for n, k in ((EXPERT, WIDTH), (WIDTH, EXPERT)):
            print(f"{m * CHOSEN},{n},{k},0,1,1,f32xq4_k,,{EXPERTS},,experts")


def speed(program, *options):
    """Returns tokens per second."""
    command = [program, "--width", WIDTH, "--heads", HEADS, "--kv-heads", KV_HEADS, *options]
    done = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True)
    return float(re.match(r"([\d.]+) tokens/s", done.stdout)[1])


def ggml_block(library, program, folder, *options):
    """The block that the program has written, in ggml."""
    import ggml_block as ggml
    speed(program, *options, "--runs", 1, "--write", folder)
    block = ggml.Block(library, folder)
    errors = block.errors(block.floats("y").reshape(block.tokens, -1))
    if not (errors <= block.most_error()).all():
        raise SystemExit(f"ggml's block differs from ours by up to {errors.max():.2g} of what a token gains")
    return block


def spread(values):
    median = statistics.median(values)
    return f"{median:.3g} (mad {statistics.median(abs(v - median) for v in values):.2g}, {min(values):.3g} to {max(values):.3g})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--ggml", metavar="LIBRARY", help="ggml's graphs take part: path of libggml-vulkan.so (bench/README.md)")
    parser.add_argument("--only", nargs="+", default=[*PHASES, *KINDS], help="some of prefill, decode, dense, mixture (default: all)")
    parser.add_argument("--shapes", action="store_true", help="print the problems of the block, for rooftile tune")
    options = parser.parse_args()
    if options.shapes or options.program is None:
        return shapes() if options.shapes else parser.error("name the program, build/examples/example_transformer_block")
    speeds = {(phase, kind): [] for phase in PHASES for kind in KINDS if {phase, kind} <= set(options.only)}
    theirs, blocks = {key: [] for key in speeds}, {}
    if options.ggml:
        for phase, kind in speeds:
            with tempfile.TemporaryDirectory() as folder:
                sizes = [x for name, x in zip(PHASES[phase][::2], PHASES[phase][1::2]) for x in (name, x) if name != "--runs"]
                blocks[phase, kind] = ggml_block(options.ggml, options.program, folder, *KINDS[kind], *sizes)
    for _ in range(options.rounds):
        for phase, kind in speeds:
            speeds[phase, kind].append(speed(options.program, *KINDS[kind], *PHASES[phase]))
            if blocks:
                theirs[phase, kind].append(blocks[phase, kind].run(GGML_RUNS[phase]))
    for (phase, kind), values in speeds.items():
        print(f"{phase} {kind}: {spread(values)} tokens/s")
        if blocks:
            ratios = [ours / ggml for ours, ggml in zip(values, theirs[phase, kind])]
            print(f"{phase} {kind}, ggml: {spread(theirs[phase, kind])} tokens/s; ours over ggml's: {spread(ratios)}")
    for phase in PHASES:
        if not {(phase, kind) for kind in KINDS} <= set(speeds):
            continue
        ratios = [m / d for m, d in zip(speeds[phase, "mixture"], speeds[phase, "dense"])]
        print(f"{phase}, mixture over dense: {spread(ratios)}")


if __name__ == "__main__":
    main()
