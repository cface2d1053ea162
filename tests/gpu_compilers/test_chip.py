#!/usr/bin/env python3
"""The compiler of a real GPU takes the kernels that are used first there: the default of every family with every type, and all
priors. Nothing is run on a device (scripts/gpu-compilers).

    test_chip.py SOURCE_DIR PROGRAM CHIP CHECK      CHECK: compiles or understood

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
                   "inspect", "--json", *options]
        run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode == NOT_SET_UP:
        print(run.stderr.strip() or "scripts/gpu-compilers is not set up")
        sys.exit(NOT_SET_UP)
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {run.returncode}\n{run.stderr}")
    return json.loads(run.stdout)["kernels"]


def kernels_of(source, program, chip):
    kernels = {}
    for choice in ("--defaults", "--priors"):
        for transposes in ([], ["--trans-b"], ["--trans-a"]):
            for kernel in inspected(source, program, chip, choice, *transposes):
                kernels.setdefault((kernel["kernel"], kernel["class"]), kernel)
    return list(kernels.values())


def family(kernel):
    return dict(setting.split("=") for setting in kernel["kernel"].split())["family"]


def described(kernel):
    return f"{kernel['short_name']}, {kernel['class']} ({kernel['origin']})"


def check_compiles(kernels):
    """Every kernel compiles, and every family and type is among them."""
    wrong = [f"{described(k)}: {k['compilation']}: {k['message']}" for k in kernels if k["compilation"] != "done"]
    for types in TYPES:
        there = {family(k) for k in kernels if k["class"].split(".")[0] == types}
        wrong += [f"no kernel of the family {name} was compiled for {types}" for name in sorted(FAMILIES - there)]
    return wrong


def check_understood(kernels):
    """The compiler tells registers, and every main loop is found without unknown instructions."""
    wrong = [f"{described(k)}: the compiler tells no registers" for k in kernels if k["facts"]["registers"] is None]
    wrong += [f"{described(k)}: {k['loop']}: {k['loop_message']}" for k in kernels if k["loop"] != "found"]
    return wrong + [f"{described(k)}: unknown instructions {k['main_loop']['unknown_instructions']}" for k in kernels
                    if k["loop"] == "found" and k["main_loop"]["unknown_instructions"]]


CHECKS = {"compiles": check_compiles, "understood": check_understood}


def main():
    source, program, chip, check = sys.argv[1:]
    kernels = kernels_of(source, program, chip)
    wrong = CHECKS[check](kernels)
    print(f"{chip}: {len(kernels)} kernels, {len(wrong)} failures")
    sys.exit("\n".join(wrong) or 0)


main()
