"""Measures each call's precision on each tier against quadruple precision, for the table in docs/precision.md.

    test_precision.py            prints the table (ROOFTILE_BUILD names the build folder)
"""
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ["ROOFTILE_BUILD"])
PAGE = HERE.parent.parent / "docs" / "precision.md"
LINKED = BUILD / "librooftile_blas.so.0"
REFERENCE_BLAS = "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3"
TIERS = ["auto", "device", "host", "host1", "host64"]
PRECISIONS = ["relaxed", "standard", "half", "int8", "high", "exact64"]
BLAS = ["sgemm", "sgemm_batch", "sgemm_batch_strided", "sgemv", "ssyrk", "ssymm", "strmm", "strsm",
        "dgemm", "dgemm_batch", "dgemm_batch_strided", "dsyrk", "dsymm", "dtrmm", "dtrsm"]
EPILOGUES = ["row_scale+column_scale+bias_row+silu+residual+clamp", "bias_column+gelu_erf", "column_scale+gelu_tanh+residual",
             "relu"]
TYPES = ["f16", "bf16", "f16_f16", "bf16_bf16", "f16_f16_sum_f16", "i8", "u8", "i8_f16", "u8_bf16", "i8_i32", "u8_i32",
         "f64", "f32_half", "f32xq4b32_half", "f32xq4b32_int8", "f32xq4b32", "f16xq4b16_f16", "f32xq4b32z", "f32xq8b16z", "f32xq8b32zf"]
TUNED = TYPES + [f"{types}:{epilogue}" for types in ("f32", "f16_f16", "bf16", "i8", "f64") for epilogue in EPILOGUES]
CALLS = 6


def run(home, library=LINKED, calls=CALLS, seed=1, routine=None, **environment):
    """Returns each routine's tally, and the output on stderr."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ROOFTILE_", "XDG_", "LD_"))}
    base = {"HOME": str(home), "ROOFTILE_CACHE": str(home / "cache"),
            "ROOFTILE_DETERMINISTIC": "1", "ROOFTILE_LOG_UNTUNED": "off"}
    only = ["--routine", routine] if routine else []
    done = subprocess.run([BUILD / "tests" / "precision_calls", "--calls", str(calls), "--seed", str(seed), *only, library],
                          capture_output=True, text=True, timeout=240, env=inherited | base | environment)
    assert done.returncode == 0, done.stdout + done.stderr
    tallies = {}
    for line in done.stdout.splitlines():
        tally = json.loads(line)
        tallies[tally["routine"]] = tally
    return tallies, done.stderr


def plant(folder):
    """Writes a database whose device is predicted to win every call, with kernels for all routines of the program."""
    database = folder / "tuned.db"
    subprocess.run([BUILD / "tests" / "write_tuned_database", database, "slow", *TUNED], check=True)
    return database


def promise(tally, precision):
    """Returns the precision that a routine's calls had."""
    if tally["refused"] == tally["calls"]:
        return "refused"
    assert tally["refused"] == 0, tally
    if tally["beyond"] == 0:
        assert tally["correct"] + tally["within"] == tally["elements"] > 0, tally
        return "exact" if tally["routine"].endswith("int32 C") else "float64"
    if precision == "high":
        assert tally["worst"] <= 1e-6, tally
        return "checked"
    # Relative to the sum of magnitudes: (k + 3) * 2^-24 is below 3e-5 here, (k + 3) * 2^-11 (16-bit sums) below 0.1.
    assert tally["worst"] <= (0.1 if "16-bit" in tally["routine"] else 1e-4), tally
    return "float32"


@pytest.fixture(scope="session")
def tuned(tmp_path_factory):
    return plant(tmp_path_factory.mktemp("tuned"))


def measure(home, database):
    """Returns precisions by (routine, tier, precision), and output on stderr by (tier, precision)."""
    cells, said = {}, {}
    for tier, precision in itertools.product(TIERS, PRECISIONS):
        tallies, said[tier, precision] = run(home, ROOFTILE_DB=str(database), ROOFTILE_TIER=tier, ROOFTILE_PRECISION=precision)
        for routine, tally in tallies.items():
            cells[routine, tier, precision] = promise(tally, precision)
    return cells, said


@pytest.fixture(scope="session")
def measured(tuned, tmp_path_factory):
    return measure(tmp_path_factory.mktemp("home"), tuned)


def grouped(names, key):
    """Groups names with equal keys, in the order of each group's first name."""
    groups = {}
    for name in names:
        groups.setdefault(key(name), []).append(name)
    return groups


def table(cells):
    """Returns a Markdown table, in which routines and tiers of equal precision share a line."""
    routines = list(dict.fromkeys(routine for routine, _, _ in cells))
    lines = ["| calls | tier | relaxed, standard, half, int8 | high | exact64 |", "|---|---|---|---|---|"]

    def row(routine, tier):
        relaxed, *rest = [cells[routine, tier, precision] for precision in PRECISIONS]
        assert [relaxed] * 3 == rest[:3], (routine, tier)  # The planted kernels round nothing.
        return tuple(rest[2:])

    alike = grouped(routines, lambda routine: tuple(row(routine, tier) for tier in TIERS))
    for together in alike.values():
        what = ", ".join(re.sub("`, ", "` with ", f"`{name}`" if "," not in name else f"`{name.replace(',', '`,', 1)}") for name in together)
        for promises, tiers in grouped(TIERS, lambda tier: row(together[0], tier)).items():
            where = "any" if len(tiers) == len(TIERS) else ", ".join(f"`{tier}`" for tier in tiers)
            lines.append(f"| {what} | {where} | {' | '.join(promises)} |")
            what = ""
    return "\n".join(lines)


def test_the_table_in_the_documentation_is_what_calls_have(measured):
    cells, _ = measured
    page = re.search(r"<!-- measured by tests/precision -->\n(.*?)\n<!-- end -->", PAGE.read_text(), re.DOTALL)
    assert page and page.group(1) == table(cells)


def test_requested_precision_holds_or_is_refused(measured):
    cells, _ = measured
    for (routine, tier, precision), promised in cells.items():
        if precision == "exact64":
            assert promised in ("float64", "exact", "refused"), (routine, tier, promised)
        if precision == "high":
            assert promised in ("checked", "float64", "exact", "refused"), (routine, tier, promised)
        if routine in BLAS:
            assert promised != "refused", (routine, tier, precision)


def test_a_device_that_cannot_keep_the_precision_is_reported_once(measured):
    _, said = measured
    for (tier, precision), text in said.items():
        lines = text.splitlines()
        expected = tier == "device" and precision in ("high", "exact64")
        assert len(lines) == (1 if expected else 0), (tier, precision, text)
        assert not expected or (lines[0].startswith("rooftile: ") and lines[0].endswith(" computes instead, in float64")), text


@pytest.mark.parametrize("tier", ["auto", "host", "host1"])
@pytest.mark.parametrize("machine", ["no database", "no driver", "another BLAS", "not deterministic"])
def test_it_holds_whatever_the_machine_has(tmp_path, tier, machine):
    environment = {"no database": {}, "no driver": {"VK_DRIVER_FILES": "/none", "VK_ICD_FILENAMES": "/none"},
                   "another BLAS": {"ROOFTILE_BLAS": REFERENCE_BLAS}, "not deterministic": {"ROOFTILE_DETERMINISTIC": "0"}}[machine]
    tallies, said = run(tmp_path, calls=4, seed=2, ROOFTILE_PRECISION="exact64", ROOFTILE_TIER=tier, **environment)
    assert {promise(tally, "exact64") for name, tally in tallies.items() if "resident" not in name and "list" not in name} == {
        "float64", "exact"}
    assert said == ""


def test_without_the_runtime_the_drop_in_sums_in_float64(tmp_path):
    alone = tmp_path / "alone" / LINKED.name
    alone.parent.mkdir()
    alone.write_bytes(LINKED.read_bytes())
    for routine in BLAS:
        tallies, said = run(tmp_path, library=alone, calls=4, routine=routine, ROOFTILE_PRECISION="exact64",
                            LD_LIBRARY_PATH=str(tmp_path))
        assert promise(tallies[routine], "exact64") == "float64", routine


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(table(measure(pathlib.Path(folder), plant(pathlib.Path(folder)))[0]))
