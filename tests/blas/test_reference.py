"""Test programs of the reference BLAS (package libblas-test) and of LAPACK (liblapack-test) over the drop-in."""
import os
import re

import pytest

from conftest import ALTERNATIVE, LIBRARIES, OPENBLAS, PRELOADED, REFERENCE_BLAS

PROGRAMS = LIBRARIES / "blas"
ROUTINES = ["GEMM", "SYMM", "TRMM", "TRSM", "SYRK"]


def summary(machine, program, data, programs=PROGRAMS, **options):
    """Returns output and summary file of a test program, which reads its input from standard input."""
    run = machine.run("sh", "-c", f"exec {programs / program} < {programs / data}", stderr=None, **options)
    files = [file.read_text() for file in machine.home.glob("*.out")]
    return "\n".join([run.stdout, run.stderr, *files])


def provider(machine):
    """The drop-in as the libblas.so.3 that programs find first."""
    folder = machine.home / "provider"
    folder.mkdir(exist_ok=True)
    if not (folder / "libblas.so.3").exists():
        os.symlink(ALTERNATIVE, folder / "libblas.so.3")
    return {"LD_LIBRARY_PATH": folder}


def error_exits(text):
    return [line.strip() for line in text.splitlines() if "TESTS OF ERROR-EXITS" in line]


@pytest.mark.parametrize("letter", ["s", "d"])
@pytest.mark.parametrize("way, tier", [("preloaded", "auto"), ("alternative", "auto"), ("alternative", "device")])
def test_fortran_level_3(tuned, way, tier, letter):
    program, data = f"xblat3{letter}", f"{letter}blat3.in"
    # OpenBLAS reports wrong arguments. That of Debian 13 fails these tests of xblat3d, with the drop-in and without.
    alone = error_exits(summary(tuned, program, data, LD_LIBRARY_PATH=OPENBLAS.parent))
    options = {"preload": PRELOADED} if way == "preloaded" else provider(tuned)
    text = summary(tuned, program, data, ROOFTILE_TIER=tier, **options)
    assert "FAILED ON CALL" not in text and "FATAL" not in text and "computes instead" not in text, text
    for routine in ROUTINES:
        assert re.search(rf"{letter.upper()}{routine} +PASSED THE COMPUTATIONAL TESTS", text), text
    assert len(alone) >= len(ROUTINES) and error_exits(text) == alone, text


@pytest.mark.parametrize("letter", ["s", "d"])
@pytest.mark.parametrize("tier", ["auto", "device"])
def test_cblas_level_3(tuned, tier, letter):
    # The tests of errors expect the messages of the reference CBLAS, from which those of OpenBLAS differ.
    text = summary(tuned, f"x{letter}cblat3", f"{letter}in3", preload=PRELOADED, ROOFTILE_TIER=tier, ROOFTILE_BLAS=REFERENCE_BLAS,
                   LD_LIBRARY_PATH=REFERENCE_BLAS.parent)
    assert "FAIL" not in text and "FATAL" not in text and "computes instead" not in text, text
    for routine in ROUTINES:
        name = f"cblas_{letter}{routine.lower()}"
        assert len(re.findall(rf"{name} +PASSED THE (?:COLUMN|ROW)-MAJOR +COMPUTATIONAL TESTS", text)) == 2, text
        assert re.search(rf"{name} +PASSED THE TESTS OF ERROR-EXITS", text), text


def verdicts(text):
    return [line.strip() for line in text.splitlines() if re.search("PASS|FAIL|FATAL|SUSPECT", line, re.IGNORECASE)]


@pytest.mark.parametrize("program, data", [("xblat3z", "zblat3.in"), ("xblat1s", "/dev/null"), ("xblat1z", "/dev/null")])
def test_everything_else_through_the_alternative(untuned, program, data):
    # OpenBLAS computes these routines. That of Debian 13 may fail tests of error exits, with the drop-in and without.
    alone = verdicts(summary(untuned, program, data, LD_LIBRARY_PATH=OPENBLAS.parent))
    found = verdicts(summary(untuned, program, data, **provider(untuned)))
    assert any("PASS" in line for line in found) and found == alone, (found, alone)
    wrong = [line for line in found if re.search("FAIL|FATAL|SUSPECT", line) and "FAILED THE TESTS OF ERROR-EXITS" not in line]
    assert not wrong, found


def two_block_sizes(data, target):
    """Test data of LAPACK with the second and the last of its five block sizes: blocks of 3 and 20, of matrices up to 50 x 50."""
    lines = data.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if "Values of NB " in line)
    lines[first - 1] = "2"
    for i in range(first, len(lines)):  # with what goes with each size: NX, and for some programs NBMIN and NRHS
        if not re.match(r"(\d+ +){5}Values", lines[i]):
            break
        lines[i] = " ".join(lines[i].split()[1:5:3])
    target.write_text("\n".join(lines) + "\n")
    return target


@pytest.mark.parametrize("program, data", [("xlintsts", "stest.in"), ("xeigtsts", "svd.in")])
def test_lapack(tuned, program, data):
    # Linear systems of all kinds, and singular values, with LAPACK's own thresholds. Debian 12's OpenBLAS fails 104 of 8,008 tests
    # of STR by itself. A second thread of OpenBLAS waits for most of the time, by computing.
    data = two_block_sizes(LIBRARIES / "lapack" / data, tuned.home / data)
    tuned.environment["OPENBLAS_NUM_THREADS"] = "1"
    alone = verdicts(summary(tuned, program, data, LIBRARIES / "lapack"))
    found = verdicts(summary(tuned, program, data, LIBRARIES / "lapack", preload=PRELOADED))
    assert len(found) > 10 and found == alone, (found, alone)
