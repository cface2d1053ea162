"""The Python examples on the host and, where a device is tuned for them, there. PYTHONPATH or the system has the package."""
import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(os.environ["ROOFTILE_EXAMPLES"])  # in the source tree or installed


def run(script, *arguments):
    return subprocess.run([sys.executable, str(EXAMPLES / "python" / script), *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("arguments", [["pca.py", "33", "5"], ["recommend.py", "300", "11", "1"], ["portfolio.py", "33", "5", "6"],
                                       ["portfolio.py", "1", "1", "2"]])
def test_examples_are_right(arguments):
    done = run(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "right"


def missing(script):
    """Whether the package that this example needs is not installed: PyTorch takes 600 MB, and the tests do not install it."""
    return script == "torch_linear.py" and importlib.util.find_spec("torch") is None


def test_readme_lists_every_example_and_its_commands_work():
    readme = (EXAMPLES / "README.md").read_text()
    for file in [*EXAMPLES.glob("*.c*"), *EXAMPLES.glob("*/*.py"), EXAMPLES / "scalapack"]:
        assert f"]({file.relative_to(EXAMPLES)}" in readme, f"examples/README.md does not list {file.name}"
    commands = re.findall(r"`python3 examples/(python/[^`]+)`", readme)
    assert len(commands) == len(list(EXAMPLES.glob("python/*.py")))
    for command in commands:
        script, *arguments = shlex.split(command)
        done = run(pathlib.Path(script).name, *arguments)
        if missing(pathlib.Path(script).name):
            assert done.returncode == 77 and "not installed" in done.stdout
            continue
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
