"""Checks that every routine of the drop-in has right results on every tier."""
import sys

import pytest

from conftest import ALTERNATIVE, HERE, LINKED, OPENBLAS, PRELOADED, PRELUDE, REFERENCE_BLAS

PRODUCTS = HERE / "products.py"
RECASTS = ["ssyrk", "ssymm", "strmm", "strsm", "dsyrk", "dsymm", "dtrmm", "dtrsm"]


def test_on_the_host(untuned):
    everything = int(untuned.run(sys.executable, PRODUCTS, LINKED).stdout)
    assert everything > 500
    assert int(untuned.run(sys.executable, PRODUCTS, ALTERNATIVE, ROOFTILE_TIER="host").stdout) == everything


# Preloading decides how the routines are found, once for all of a kind.
@pytest.mark.parametrize("path, blas, routines", [(LINKED, OPENBLAS, []), (LINKED, REFERENCE_BLAS, []),
                                                  (PRELOADED, REFERENCE_BLAS, ["sgemm", "ssyrk", "strsm", "dgemm", "dtrmm"])],
                         ids=["linked-openblas", "linked-reference", "preloaded-reference"])
def test_in_float64_nothing_is_read_or_written_that_blas_does_not(untuned, path, blas, routines):
    untuned.run(sys.executable, PRODUCTS, path, *routines, ROOFTILE_PRECISION="exact64", ROOFTILE_BLAS=blas)


def test_routines_that_stay_in_float32_say_so_once(untuned):
    code = """
blas, at, f = library(sys.argv[1]), ctypes.byref, ctypes.c_float
n, one, x = ctypes.c_int(4), ctypes.c_int(1), (f * 4)(1, 2, 3, 4)
blas.scopy_(at(n), x, at(one), x, at(one))
blas.ddot_(at(n), (ctypes.c_double * 4)(), at(one), (ctypes.c_double * 4)(), at(one))
square(blas, 8)
sys.stderr.flush()
print('quiet', flush=True)
blas.cblas_sdot(4, x, 1, x, 1)
blas.saxpy_(at(n), at(f(2)), x, at(one), x, at(one))
"""
    run = untuned.run(sys.executable, "-c", PRELUDE + code, LINKED, stderr=None, ROOFTILE_PRECISION="high")
    assert run.stderr == ("rooftile: cblas_sdot does not sum in float64, as ROOFTILE_PRECISION or ROOFTILE_TIER asks: it is not "
                          "among the routines that Rooftile takes over; libopenblas.so.0 computes in float32\n")
    untuned.run(sys.executable, "-c", PRELUDE + code, LINKED, ROOFTILE_PRECISION="standard")
    untuned.run(sys.executable, "-c", PRELUDE + code, LINKED, ROOFTILE_PRECISION="high", ROOFTILE_LOG="off")


def test_an_unknown_precision_is_reported(untuned):
    run = untuned.run(sys.executable, "-c", PRELUDE + "square(library(sys.argv[1]), 4)", LINKED, stderr=None,
                      ROOFTILE_PRECISION="best")
    assert run.stderr.startswith("rooftile: Rooftile cannot be opened: ROOFTILE_PRECISION is 'best'; known: relaxed") and run.stderr.count("\n") == 1


@pytest.mark.parametrize("tier", ["host", "host1", "device"])
def test_the_log_tells_where_forced_calls_run(tuned, tier):
    code = "blas = library(sys.argv[1])\nfor _ in range(3): square(blas, 70)"
    run = tuned.run(sys.executable, "-c", PRELUDE + code, LINKED, stderr=None, ROOFTILE_TIER=tier, ROOFTILE_LOG="decisions")
    assert run.stderr.startswith(f"rooftile: 70x70x70 nn f32: {tier}, forced") and run.stderr.count("\n") == 1


def test_on_the_device_as_predicted(tuned):
    tuned.run(sys.executable, PRODUCTS, LINKED)


def test_on_the_device_by_force(tuned):
    # run() fails on any output on stderr, and the drop-in reports a forced call that the host computes instead.
    assert int(tuned.run(sys.executable, PRODUCTS, LINKED, ROOFTILE_TIER="device").stdout) > 500


def test_on_the_device_over_the_reference_blas(tuned):
    # The cblas_ functions of the reference BLAS call the Fortran symbols by name and reach those of the drop-in.
    tuned.run(sys.executable, PRODUCTS, REFERENCE_BLAS, "sgemm", "dgemm", *RECASTS,
              preload=PRELOADED, ROOFTILE_BLAS=REFERENCE_BLAS)


@pytest.mark.parametrize("tier, devices, routines", [*(("auto", 1, [routine]) for routine in RECASTS), ("host", 0, RECASTS)])
def test_recasts_use_the_device_where_it_wins(tuned, tier, devices, routines):
    code = f"""
sys.argv = ['products.py', {str(LINKED)!r}, *{routines!r}]
exec(open({str(PRODUCTS)!r}).read())
print(len(mapped('libvulkan_')))
"""
    assert tuned.python(code, ROOFTILE_TIER=tier).splitlines()[-1] == str(devices)


@pytest.mark.parametrize("blas", [OPENBLAS, REFERENCE_BLAS], ids=["openblas", "reference"])
def test_illegal_arguments_are_reported_as_by_the_real_library(untuned, blas):
    code = """
blas = library(sys.argv[1])
at, f = ctypes.byref, ctypes.c_float
c = (f * 64)(*range(64))
n = [ctypes.c_int(i) for i in range(10)]
bad = ctypes.c_int(-1)
def fortran(routine, *arguments):
    getattr(blas, routine)(*[a if isinstance(a, bytes) else a if a is c else at(a) for a in arguments])
one = f(1)
for call in [(b'X', b'N', n[2], n[2], n[2], one, c, n[2], c, n[2], one, c, n[2]),
             (b'N', b'X', n[2], n[2], n[2], one, c, n[2], c, n[2], one, c, n[2]),
             (b'N', b'N', bad, n[2], n[2], one, c, n[2], c, n[2], one, c, n[2]),
             (b'N', b'N', n[2], bad, n[2], one, c, n[2], c, n[2], one, c, n[2]),
             (b'N', b'N', n[2], n[2], bad, one, c, n[2], c, n[2], one, c, n[2]),
             (b'N', b'N', n[2], n[2], n[2], one, c, n[1], c, n[2], one, c, n[2]),
             (b'N', b'N', n[2], n[2], n[2], one, c, n[2], c, n[0], one, c, n[2]),
             (b'N', b'N', n[0], n[2], n[2], one, c, n[2], c, n[2], one, c, n[0])]:
    fortran('sgemm_', *call)
fortran('ssyrk_', b'X', b'N', n[2], n[2], one, c, n[2], one, c, n[2])
fortran('ssymm_', b'L', b'U', n[2], n[2], one, c, n[2], c, n[2], one, c, n[1])
fortran('strmm_', b'L', b'U', b'N', b'X', n[2], n[2], one, c, n[2], c, n[2])
fortran('strsm_', b'L', b'U', b'N', b'U', n[2], bad, one, c, n[2], c, n[2])
assert list(c) == list(range(64))
sys.stdout.flush()
"""
    def said(**options):
        run = untuned.run(sys.executable, "-c", PRELUDE + code, blas, stderr=None, **options)
        return run.stdout + run.stderr
    alone = said()
    assert alone.lower().count("parameter") >= 11
    assert said(preload=PRELOADED, ROOFTILE_BLAS=blas) == alone


def test_illegal_arguments_of_a_batch_are_reported(untuned):
    code = """
blas = library(sys.argv[1])
ints = lambda *values: (ctypes.c_int * len(values))(*values)
f = (ctypes.c_float * 2)(1, 1)
c = (ctypes.c_float * 4)(7, 7, 7, 7)
p = (ctypes.c_void_p * 2)(ctypes.addressof(c), ctypes.addressof(c))
two = ints(2, 2)
blas.sgemm_batch_(b'NN', b'NN', two, two, two, f, p, two, p, two, f, p, ints(2, 1), ints(2), ints(1, 1))
blas.cblas_sgemm_batch(101, ints(111), ints(999), two, two, two, f, p, two, p, two, f, p, two, 1, ints(1))
blas.cblas_sgemm_batch(99, ints(111), ints(111), two, two, two, f, p, two, p, two, f, p, two, 1, ints(1))
blas.sgemm_batch_(b'N', b'N', two, two, two, f, p, two, p, two, f, p, two, ints(1), ints(-1))
assert list(c) == [7] * 4
"""
    run = untuned.run(sys.executable, "-c", PRELUDE + code, LINKED, stderr=None)
    said = (run.stdout + run.stderr).splitlines()
    for line, (routine, place) in zip(said, [("SGEMM_BATCH", 13), ("cblas_sgemm_batch", 3), ("cblas_sgemm_batch", 1),
                                             ("SGEMM_BATCH", 15)], strict=True):
        assert routine.lower() in line.lower() and f" {place} " in line, line
