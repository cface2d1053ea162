"""The Python examples on the host and, where a device is tuned for them, there; and the arrays that the wrapper takes."""
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(os.environ["ROOFTILE_EXAMPLES"])  # in the source tree or installed
sys.path.insert(0, str(EXAMPLES / "python"))

import numpy  # noqa: E402
import rooftile  # noqa: E402


def run(script, *arguments):
    return subprocess.run([sys.executable, str(EXAMPLES / "python" / script), *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("arguments", [["pca.py", "33", "5"], ["recommend.py", "300", "11", "1"], ["portfolio.py", "33", "5", "6"],
                                       ["portfolio.py", "1", "1", "2"]])
def test_examples_are_right(arguments):
    done = run(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "right"


def test_readme_lists_every_example_and_its_commands_work():
    readme = (EXAMPLES / "README.md").read_text()
    for file in [*EXAMPLES.glob("*.c*"), *EXAMPLES.glob("*/*.py"), EXAMPLES / "scalapack"]:
        assert f"]({file.relative_to(EXAMPLES)}" in readme, f"examples/README.md does not list {file.name}"
    commands = re.findall(r"`python3 examples/(python/[^`]+)`", readme)
    assert len(commands) == len(list(EXAMPLES.glob("python/*.py"))) - 1  # rooftile.py is a module and no example
    for command in commands:
        script, *arguments = shlex.split(command)
        done = run(pathlib.Path(script).name, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.splitlines()[-1] == "right"


def test_portfolio_says_where_it_ran_and_sums_in_float64_where_kappa_asks_for_it():
    lines = run("portfolio.py", "40", "60", "63").stdout.splitlines()
    covariance, marginal, again = lines[:3]
    assert re.fullmatch(r"covariance +60 x +60 x +63 +host1? +[0-9.]+ ms  predicted", covariance)
    assert re.fullmatch(r"marginal risks +40 x +60 x +60 +host1? +[0-9.]+ ms  predicted", marginal)
    assert re.fullmatch(r"covariance, kappa \d{4,} +60 x +60 x +63 +host64 +[0-9.]+ ms  precision", again)
    assert re.fullmatch(r"not on a device: .*none\.db.*", lines[3])
    assert run("portfolio.py", "40", "60", "60").returncode == 1


def layouts(x):
    """Yields the same matrix in several memory layouts."""
    rows, columns = x.shape
    yield x
    yield numpy.asfortranarray(x)
    padded = numpy.full((rows + 2, columns + 3), numpy.nan, dtype=numpy.float32)
    padded[1:-1, 2:-1] = x
    yield padded[1:-1, 2:-1]
    yield padded.T[2:-1, 1:-1].T
    spread = numpy.full((rows, 2 * columns), numpy.nan, dtype=numpy.float32)
    spread[:, ::2] = x
    yield spread[:, ::2]
    yield numpy.flip(numpy.ascontiguousarray(numpy.flip(x)))  # negative strides
    yield x.astype(numpy.float64)


@pytest.mark.parametrize("m,n,k", [(3, 5, 4), (1, 1, 7), (5, 3, 1), (1, 1, 1), (2, 3, 0), (0, 2, 3)])
def test_any_layout_is_multiplied_right(m, n, k):
    random = numpy.random.default_rng(3)
    a, b = random.random((m, k), dtype=numpy.float32), random.random((k, n), dtype=numpy.float32)
    with rooftile.Session() as session:
        for x in layouts(a):
            for y in layouts(b):
                # The error bound of k + 2 roundings in sums of positive numbers.
                numpy.testing.assert_allclose(session.matmul(x, y), a.astype(float) @ b, rtol=(k + 2) * 2.0**-23)


def test_out_and_beta():
    with rooftile.Session() as session:
        out = numpy.full((2, 2), 10, dtype=numpy.float32)
        assert session.matmul(numpy.eye(2), numpy.eye(2), out=out, alpha=2, beta=0.5) is out
        assert out.tolist() == [[7, 5], [5, 7]]
        with pytest.raises(ValueError, match="beta needs out"):
            session.matmul(numpy.eye(2), numpy.eye(2), beta=1)
        for bad in (numpy.zeros((2, 3), dtype=numpy.float32), numpy.zeros((2, 2)), numpy.zeros((2, 4), dtype=numpy.float32)[:, ::2]):
            with pytest.raises(ValueError, match="out has to be"):
                session.matmul(numpy.eye(2), numpy.eye(2), out=bad)


def test_guard_and_decision():
    random = numpy.random.default_rng(5)
    a, b = random.random((40, 900), dtype=numpy.float32), random.random((900, 30), dtype=numpy.float32)
    exact = (a.astype(float) @ b).astype(numpy.float32)
    with rooftile.Session() as session:
        with pytest.raises(rooftile.Error):
            session.last_decision()  # no call was made yet
        session.matmul(a, b)
        decision = session.last_decision()
        assert decision.tier in ("host", "host1") and decision.reason == "predicted"
        assert decision.kernel == "" and decision.veto != "" and decision.device_ns == numpy.inf
        for asked in ({"kappa": 1000.0}, {"precision": "exact64"}):
            assert (session.matmul(a, b, **asked) == exact).all()
            assert session.last_decision()[:2] == ("host64", "precision")
        session.matmul(a, b, kappa=999.0)
        assert session.last_decision().tier != "host64"


def test_errors_say_what_is_wrong():
    with rooftile.Session() as session:
        with pytest.raises(ValueError, match="the inner sizes differ"):
            session.matmul(numpy.eye(2), numpy.eye(3))
        with pytest.raises(ValueError, match="two dimensions, not 1"):
            session.matmul(numpy.zeros(3), numpy.eye(3))
        with pytest.raises(rooftile.Error, match="float64 sums, which the device tier does not compute") as caught:
            session.matmul(numpy.eye(2), numpy.eye(2), tier="device", precision="exact64")
        assert caught.value.status == 2


@pytest.mark.parametrize("transposed", [False, True])
def test_packed_weights(transposed):
    random = numpy.random.default_rng(4)
    weights = random.random((33, 21), dtype=numpy.float32)
    with rooftile.Session() as session, session.pack(weights.T if transposed else weights, rows=(1, 8)) as packed:
        n = packed.shape[1]
        assert packed.device_bytes == 0 or packed.device_bytes >= packed.array.nbytes
        for m in (1, 8, 5):
            a = random.random((m, packed.shape[0]), dtype=numpy.float32)
            expected = a.astype(float) @ packed.array
            for tier in ("auto", "host"):
                numpy.testing.assert_allclose(session.matmul(a, packed, tier=tier), expected, rtol=35 * 2.0**-23)
        with pytest.raises(ValueError, match="inner sizes differ"):
            session.matmul(numpy.zeros((2, n + 100)), packed)
    with rooftile.Session() as session, rooftile.Session() as other, session.pack(weights, rows=(4,)) as packed:
        a = random.random((4, 33), dtype=numpy.float32)
        with pytest.raises(rooftile.Error, match="belongs to another context"):
            other.matmul(a, packed)
        for options in ({"precision": "exact64"}, {"precision": "high"}, {"kappa": 1e6}):
            exact = a.astype(float) @ weights.astype(float)
            numpy.testing.assert_allclose(session.matmul(a, packed, **options), exact, rtol=1e-6)
    with rooftile.Session() as session:
        with session.pack(weights, rows=(4,)) as packed:
            pass
        # The device buffers are freed, but the arrays still exist.
        numpy.testing.assert_allclose(session.matmul(a, packed), exact, rtol=35 * 2.0**-23)
    with pytest.raises(ValueError, match="rows is empty"), rooftile.Session() as session:
        session.pack(weights, rows=())
