"""Exported symbols and dependencies of the libraries."""
import re
import subprocess

import pytest

from conftest import ALTERNATIVE, LIBRARIES, LINKED, OPENBLAS, PRELOADED

ROUTINES = ["gemm", "gemm_batch", "gemm_batch_strided", "syrk", "symm", "trmm", "trsm"]
OWN = {"rooftile_blas_version"} | {name for routine in ["sgemv", *(letter + routine for letter in "sd" for routine in ROUTINES)]
                                   for name in (f"{routine}_", f"cblas_{routine}")}


def exported(library):
    table = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library], check=True, capture_output=True, text=True)
    return {line.split()[0] for line in table.stdout.splitlines()}


def dynamic(library, tag):
    table = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    return re.findall(rf"\({tag}\).*\[(.*)\]", table)


def test_preloading_changes_nothing_but_what_rooftile_computes():
    assert exported(PRELOADED) == OWN


def test_linking_finds_all_of_blas_cblas_and_lapack():
    public = {name for folder in [OPENBLAS.parent] for file in ("libblas.so.3", "liblapack.so.3")
              for name in exported(folder / file) if not name.startswith("__")}
    symbols = exported(LINKED)
    assert len(public) > 2000 and not public - symbols
    assert {"openblas_set_num_threads", "openblas_get_config", "openblas_get_corename"} <= symbols
    # All other symbols are public functions that only OpenBLAS has. Internal functions of OpenBLAS are not exported.
    rest = symbols - public - OWN
    assert rest <= exported(OPENBLAS) and all(re.fullmatch(r"(openblas_|goto_|cblas_xerbla).*", name) for name in rest), rest


def test_the_alternative_has_the_symbols_of_the_distributions_others():
    others = {name for name in exported(OPENBLAS.parent / "libblas.so.3") if not name.startswith("__")}
    assert exported(ALTERNATIVE) == others | OWN
    # All Fortran and CBLAS symbols of the reference implementation are exported, except for its internal ones.
    reference = {name for name in exported(LIBRARIES / "blas" / "libblas.so.3") if not name.endswith("sub_")}
    missing = reference - exported(ALTERNATIVE)
    assert missing <= {"RowMajorStrg", "CBLAS_CallFromC", "xerbla_array_", "cblas_xerbla", "cblas_dcabs1", "cblas_scabs1"}, missing


@pytest.mark.parametrize("library", [LINKED, ALTERNATIVE, PRELOADED], ids=["linked", "alternative", "preloaded"])
def test_nothing_but_the_c_library_is_needed(library):
    assert set(dynamic(library, "NEEDED")) <= {"libc.so.6", "ld-linux-x86-64.so.2"}
    assert dynamic(library, "RUNPATH") == dynamic(library, "RPATH") == []


def test_names_under_which_programs_look_for_them():
    assert dynamic(LINKED, "SONAME") == ["librooftile_blas.so.0"]
    assert dynamic(ALTERNATIVE, "SONAME") == ["libblas.so.3"]
