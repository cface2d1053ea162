#!/usr/bin/env python3
"""What GPUs' compilers make of a sample of the search space (scripts/gpu-compilers): the rows of
tests/model/data/compiled_kernels.csv, on which tests/model/compiled_order_test.cpp holds the model's order.

    compiled_figures.py PROGRAM [CHIP:CLASS...] > FILE    CLASS: f32.nn, f16.nn or f16.nt; default: all of the file

The sample of a chip and a class has the kernels with the smallest hashes, what the tuner tries first on such a chip, and the first
of the model's order. Kernels differ only in what the main loop is made of. Exits with 77 where the compilers are not set up."""
import concurrent.futures
import csv
import hashlib
import json
import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "scripts" / "gpu-compilers"
CHIPS = ["NAVI21", "NAVI31", "GFX1151", "MI200", "172", "162", "dg2", "bmg"]
WITHOUT_MATRICES = ["NAVI21", "MI200"]  # as far as the driver offers them
# The number of kernels by hash, of each family.
FAMILIES = {"f32": {"tiled": 30, "register": 4, "broadcast": 4, "vector": 4}, "f16": {"matrix": 40}}
# Kernels that are asked for in the model's order, many of which differ in what FIXED names; the number that is taken.
RANKED, FIRST = 24, 10
SIZES = ["--m", "4096", "--n", "4096", "--k", "4096"]
# Values that do not change the main loop, or that only replace its loads by more and narrower ones.
FIXED = {"scope": "subgroup", "vector_width_a": "4", "vector_width_b": "4", "split_k": "1", "raster": "row", "edge": "masked",
         "optimization": "zero"}
DEFAULTS = dict(FIXED, reg_m="1", reg_n="1", subgroup_m="0", subgroup_n="0", matrix_m="0", matrix_n="0", matrix_k="0",
                load_path_a="buffer", load_path_b="buffer", stage="none", stages="1", shared_pad="0", unroll_k="1", dot="1",
                reduction="ordered", tile_batch="1", packed_a="no", packed_b="no", subgroup_size="0", vector_width_a="1",
                vector_width_b="1")  # which a text may leave out
COLUMNS = ["chip", "class", "registers", "spilled", "scratch", "occupancy", "shared", "subgroup", "products", "dual", "multiply_adds",
           "others", "outer_others", "kernel"]
PROCESSES = 2
NOT_SET_UP = 77


def run(program, chip, *arguments):
    command = [SCRIPT, "run", chip, program, "--db", "/nonexistent/rooftile.db", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == NOT_SET_UP:
        sys.exit(NOT_SET_UP)
    return done


def inspected(program, chip, *arguments):
    return json.loads(run(program, chip, "inspect", "--json", *arguments).stdout)["kernels"]


def settings(kernel):
    return dict(word.split("=") for word in kernel.split())


def options(of_class):
    types, transposes = of_class.split(".")
    return ["--type", types, *(["--trans-b"] if transposes == "nt" else []), *SIZES]


def sample(program, chip, of_class):
    """Returns the compiled kernels, none twice."""
    chosen, alike = [], set()
    for family, count in FAMILIES[of_class.split(".")[0]].items():
        space = run(program, chip, "emit", "--list-space", "--family", family, *options(of_class)).stdout.splitlines()
        kernels = [k for k in space if FIXED.items() <= settings(k).items()]
        chosen += sorted(kernels, key=lambda k: hashlib.sha256(k.encode()).hexdigest())[:count]
        alike.update(kernels)
    ranked = inspected(program, chip, "--ranked", "--limit", str(RANKED), *options(of_class))
    first = [k for k in ranked if k["kernel"] in alike and k["origin"].startswith("predicted")][:FIRST]
    first += [k for k in inspected(program, chip, "--priors", *options(of_class)) if k["class"] == of_class and k["kernel"] in alike]
    with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
        first += pool.map(lambda k: inspected(program, chip, "--variant", k, *options(of_class))[0], chosen)
    return list({k["kernel"]: k for k in first}.values())


def row(chip, kernel):
    facts, loop = kernel["facts"], kernel["main_loop"]
    counts = loop["instructions"]
    text = " ".join(f"{name}={value}" for name, value in settings(kernel["kernel"]).items() if DEFAULTS.get(name) != value)
    return [chip, kernel["class"], facts["registers"], facts["spilled_registers"] or facts["spill_stores"] or 0,
            facts["scratch_bytes"] or 0, facts["subgroups_per_unit"] or 0, facts["shared_bytes"] or 0, kernel["subgroup_size"],
            counts["matrix"] + counts["multiply_add"], loop["second_of_dual_issues"], int(loop["multiply_adds"]), loop["others"],
            loop["outer_others"] or 0, text]


def main(program, *wanted):
    if not wanted:
        wanted = [f"{chip}:{of_class}" for of_class in ("f32.nn", "f16.nn", "f16.nt") for chip in CHIPS
                  if of_class == "f32.nn" or chip not in WITHOUT_MATRICES]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name in wanted:
        chip, of_class = name.split(":")
        writer.writerows(row(chip, kernel) for kernel in sample(program, chip, of_class) if kernel["main_loop"])
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
