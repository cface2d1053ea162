"""R, Octave and ScaLAPACK's own testers over the drop-in. They need large packages: scripts/test --linalg installs them."""
import os
import re

import pytest

from conftest import BUILD, LIBRARIES
from test_scalapack import MPI

pytestmark = pytest.mark.skipif("ROOFTILE_LINALG" not in os.environ, reason="only scripts/test --linalg runs these")

# Each prints numbers, and at last whether the process has a Vulkan driver.
R = """
set.seed(7)
a <- matrix(rnorm(2000 * 500), 2000, 500)
b <- matrix(rnorm(500 * 300), 500, 300)
y <- a %*% rnorm(500) + rnorm(2000)
p <- a %*% b
g <- crossprod(a)
x <- c(sum(p), sum(abs(p)), sum(abs(g)), sum(tcrossprod(b)), sum(coef(lm(y ~ a))), sum(solve(g, crossprod(a, y))), sum(chol(g)))
cat(format(x, digits = 17), sep = "\\n")
cat("\\n", any(grepl("libvulkan_", readLines("/proc/self/maps"))), "\\n")
"""
OCTAVE = """
randn("seed", 7);
a = randn(900, 400); b = randn(400, 300); p = a * b; g = a' * a;
[l, u, order] = lu(g);
x = [sum(p(:)), sum(abs(p(:))), sum(abs(g(:))), sum(g \\ (a' * ones(900, 1))), sum(abs(u(:))), sum(eig(g(1:200, 1:200))), sum(svd(b))];
printf("%.17g\\n", x);
words = {"FALSE", "TRUE"};
puts(words{1 + !isempty(strfind(fileread("/proc/self/maps"), "libvulkan_"))});
"""
# Grids of four ranks. Debian's testers of Cholesky factorisations hang when they also refine solutions, without Rooftile too.
CHOLESKY = """'ScaLAPACK, LLt factorization input file'
'MPI machine'
'LLT.out'               output file name (if any)
6                       device out
'U'                     define Lower or Upper
4                       number of problems sizes
17 57 200 500           values of N
3                       number of NB's
8 32 64                 values of NB
2                       number of NRHS's
1 4                     values of NRHS
1                       number of NBRHS's
3                       values of NBRHS
1                       number of process grids (ordered pairs P & Q)
2                       values of P
2                       values of Q
3.0                     threshold
F                       (T or F) Test Cond. Est. and Iter. Ref. Routines
"""


def numbers(run):
    *values, device = run.stdout.split()
    return [float(value) for value in values], device


@pytest.mark.parametrize("program", [("Rscript", "-e", R), ("octave-cli", "--eval", OCTAVE)], ids=["r", "octave"])
def test_statistics_and_linear_algebra(tuned, program):
    expected, _ = numbers(tuned.run(*program, stderr=None))
    assert len(expected) == 7
    for tier in "auto", "device":
        got, device = numbers(tuned.run(BUILD / "rooftile", "run", "--tier", tier, "--", *program, stderr=None))
        assert device == "TRUE"
        # Sums of up to a million elements, some of them near zero, of products of up to 2000 elements.
        assert got == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("letter, types", [("s", "f32"), ("d", "f64")])
@pytest.mark.parametrize("program", ["PBLAS/{}pb3tst", "x{}lu", "x{}llt"])
def test_scalapack(tuned, program, letter, types):
    testers = LIBRARIES / "scalapack" / "openmpi-tests"
    for data in [testers / "LU.dat", *LIBRARIES.parent.parent.glob("share/scalapack/PBLAS/*3TST.dat")]:
        (tuned.home / data.name).write_bytes(data.read_bytes())
    (tuned.home / "LLT.dat").write_text(CHOLESKY)
    run = tuned.run("mpirun", "-n", 4, BUILD / "rooftile", "run", "--tier", "device", "--", testers / program.format(letter),
                    stderr=None, timeout=300, ROOFTILE_LOG="decisions", **MPI)
    text = run.stdout
    passed = re.findall(r"(\d+) tests completed and passed", text) or re.findall(r"PASSED", text)
    assert passed and passed[0] != "0" and not re.search(r"(?m)FAILED( +\*+)? *$|[1-9] tests completed and failed", text), text
    assert len(re.findall(rf" {types}: device", run.stderr)) > 100, run.stderr
