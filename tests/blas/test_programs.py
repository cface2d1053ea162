"""Programs of the distribution give the same results with and without the drop-in."""
import json
import os
import subprocess
import sys

import pytest

from conftest import ALTERNATIVE, BUILD, LINKED, OPENBLAS, PRELOADED

# The programs print results as float64. Their GEMMs are small: any order of sums gives nearly the same.
NUMPY = """
import json, sys
import numpy as np
r = np.random.default_rng(3)
def m(*shape): return r.uniform(-1, 1, shape).astype(np.float32)
a, b, x = m(70, 90), m(90, 50), m(4, 60, 33)
s = a @ a.T + 90 * np.eye(70, dtype=np.float32)
results = dict(matmul=a @ b, transposed=b.T @ a.T, gram=a.T @ a, batch=x @ m(4, 33, 20), einsum=np.einsum('ij,jk->ki', a, b),
               strided=a[::2, 1:61:2] @ b[:30], solve=np.linalg.solve(s, m(70, 3)), cholesky=np.linalg.cholesky(s),
               inverse=np.linalg.inv(s), double=a.astype(float) @ b, complex=(a + 1j * a) @ b)
"""
SCIPY = NUMPY + """
import scipy.linalg as la
from scipy.linalg import blas
f = np.asfortranarray
results.update(sgemm=blas.sgemm(0.5, f(a), f(b)), ssyrk=blas.ssyrk(1.0, f(a), lower=1), ssymm=blas.ssymm(1.0, f(s), f(m(70, 40))),
               strmm=blas.strmm(1.0, f(s), f(m(70, 40))), strsm=blas.strsm(1.0, f(s), f(m(70, 40)), lower=1),
               lu=la.lu(s)[1], svd=la.svdvals(a), qr=np.abs(la.qr(a)[1]), expm=la.expm(s / 100), eig=la.eigvalsh(s))
"""
PRINT = """
print(json.dumps({name: [np.asarray(v).real.astype(float).ravel().tolist(), v.shape] for name, v in results.items()}))
sys.stdout.flush()
print([part for part in ('libvulkan_', 'librooftile.so') if part in open('/proc/self/maps').read()], file=sys.stderr)
"""
DEVICE = "['libvulkan_', 'librooftile.so']"


def results(machine, *command, **options):
    run = machine.run(*command, stderr=None, **options)
    return json.loads(run.stdout), run.stderr.strip()


def in_float64(code):
    for routine in ("gemm", "syrk", "symm", "trmm", "trsm"):
        code = code.replace("s" + routine, "d" + routine)
    return code.replace("float32", "float64")


def expect_same(got, expected, epsilon=2.0**-24):
    for name, (values, shape) in expected.items():
        other, other_shape = got[name]
        largest = max(map(abs, values))
        assert shape == other_shape, name
        # The problems are well conditioned: results differ by a few hundred roundings at most.
        worst = max(abs(x - y) for x, y in zip(values, other))
        assert worst <= 500 * epsilon * largest, f"{name}: {worst} of {largest}"


@pytest.mark.parametrize("code, epsilon", [(NUMPY, 2.0**-24), (SCIPY, 2.0**-24), (in_float64(SCIPY), 2.0**-53)],
                         ids=["numpy", "scipy", "scipy-float64"])
def test_python(tuned, code, epsilon):
    program = [sys.executable, "-c", code + PRINT]
    alone, _ = results(tuned, *program)
    for tier, loaded in [("auto", DEVICE), ("device", DEVICE), ("host", "['librooftile.so']")]:
        got, said = results(tuned, *program, preload=PRELOADED, ROOFTILE_TIER=tier)
        assert said == loaded
        expect_same(got, alone, epsilon)
    got, said = results(tuned, BUILD / "rooftile", "run", "--tier", "device", "--", *program)
    assert said == DEVICE
    expect_same(got, alone, epsilon)


def test_python_with_everything_preloaded(tuned):
    program = [sys.executable, "-c", SCIPY + PRINT]
    alone, _ = results(tuned, *program)
    for library in LINKED, ALTERNATIVE:
        got, said = results(tuned, *program, preload=library, ROOFTILE_TIER="device")
        assert said == DEVICE
        expect_same(got, alone)


def test_debian_alternative(tuned):
    """Follows docs/blas.md in an isolated system: links, alternatives and administration in one folder."""
    root = tuned.home / "system"
    folder = root / "lib"
    for name in ("lib", "alternatives", "admin"):
        (root / name).mkdir(parents=True)

    def alternatives(*arguments):
        subprocess.run(["/usr/bin/update-alternatives", "--altdir", root / "alternatives", "--admindir", root / "admin", "--log",
                        root / "log", *arguments], check=True, capture_output=True)
    name, link = "libblas.so.3-x86_64-linux-gnu", folder / "libblas.so.3"
    alternatives("--install", link, name, OPENBLAS.parent / "libblas.so.3", "100")
    alternatives("--install", link, name, ALTERNATIVE, "200")
    assert os.path.realpath(link) == str(ALTERNATIVE.resolve())

    program = [sys.executable, "-c", SCIPY + PRINT]
    alone, _ = results(tuned, *program)
    got, said = results(tuned, *program, LD_LIBRARY_PATH=folder, ROOFTILE_TIER="device")
    assert said == DEVICE
    expect_same(got, alone)

    alternatives("--set", name, OPENBLAS.parent / "libblas.so.3")
    _, said = results(tuned, *program, LD_LIBRARY_PATH=folder, ROOFTILE_TIER="device")
    assert said == "[]"
