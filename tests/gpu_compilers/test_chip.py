#!/usr/bin/env python3
"""The compiler of a real GPU takes the kernels that are used first there: the default of every family with every type, and all
priors. Nothing is run on a device (scripts/gpu-compilers).

    test_chip.py inspect SOURCE_DIR PROGRAM CHIP FILE    compiles the kernels and writes what the compiler tells about them
    test_chip.py CHECK FILE                              CHECK: compiles, understood, registers

Exits with 77, which ctest counts as skipped, where the compilers are not set up."""
import json
import pathlib
import subprocess
import sys
import tempfile

FAMILIES = {"naive", "register", "tiled", "broadcast", "vector", "batched_small"}
TYPES = ["f32", "f16", "bf16", "i8_i32", "u8_i32", "f16xq4b32_f16"]
NOT_SET_UP = 77


def inspected(source, program, chip, *options):
    """Returns the kernels of one run of `rooftile inspect`."""
    with tempfile.TemporaryDirectory() as folder:
        command = [pathlib.Path(source, "scripts", "gpu-compilers"), "run", chip, program, "--db", pathlib.Path(folder, "none.db"),
                   "inspect", "--json", "--time-limit", "300", *options]
        run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode == NOT_SET_UP:
        print(run.stderr.strip())
        sys.exit(NOT_SET_UP)
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {run.returncode}\n{run.stderr}")
    return json.loads(run.stdout)["kernels"]


def inspect(source, program, chip, file):
    pathlib.Path(file).unlink(missing_ok=True)
    kernels = {}
    for choice in ("--defaults", "--priors"):
        for transposes in ([], ["--trans-b"]):
            for kernel in inspected(source, program, chip, choice, *transposes):
                kernels.setdefault((kernel["kernel"], kernel["class"]), kernel)
    pathlib.Path(file).parent.mkdir(exist_ok=True)
    pathlib.Path(file).write_text(json.dumps(list(kernels.values())))
    print(f"{len(kernels)} kernels")


def family(kernel):
    return dict(setting.split("=") for setting in kernel["kernel"].split())["family"]


def described(kernel):
    return f"{kernel['short_name']}, {kernel['class']} ({kernel['origin']})"


def compiles(kernels):
    """Every kernel compiles, and every family and type is among them."""
    wrong = [f"{described(k)}: {k['compilation']}: {k['message']}" for k in kernels if k["compilation"] != "done"]
    for types in TYPES:
        there = {family(k) for k in kernels if k["class"].split(".")[0] == types}
        wrong += [f"no kernel of the family {name} was compiled for {types}" for name in sorted(FAMILIES - there)]
    return wrong


def understood(kernels):
    """The compiler tells registers, and every main loop is found and has no unknown instructions."""
    wrong = [f"{described(k)}: the compiler tells no registers" for k in kernels if k["facts"]["registers"] is None]
    for k in kernels:
        if k["loop"] != "found":
            wrong.append(f"{described(k)}: {k['loop']}: {k['loop_message']}")
        # Debian 13's LLVM does not know some encodings of AMD and says so.
        elif unknown := set(k["main_loop"]["unknown_instructions"]) - {"(invalid instruction)"}:
            wrong.append(f"{described(k)}: unknown instructions {sorted(unknown)}")
    return wrong


def registers(kernels):
    """No kernel that is used first spills registers or keeps values in scratch memory."""
    wrong = []
    for k in kernels:
        facts = k["facts"]
        spilled, scratch = facts["spilled_registers"] or facts["spill_stores"] or 0, facts["scratch_bytes"] or 0
        if k["compilation"] == "done" and (spilled or scratch):
            wrong.append(f"{described(k)}: {spilled} spilled, {scratch} bytes of scratch")
    return wrong


CHECKS = {"compiles": compiles, "understood": understood, "registers": registers}


def main():
    if sys.argv[1] == "inspect":
        return inspect(*sys.argv[2:])
    file = pathlib.Path(sys.argv[2])
    if not file.exists():
        print(f"there is no {file}: scripts/gpu-compilers is not set up")
        sys.exit(NOT_SET_UP)
    wrong = CHECKS[sys.argv[1]](json.loads(file.read_text()))
    sys.exit("\n".join(wrong) or 0)


main()
