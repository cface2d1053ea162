"""Shared by the files: the built libraries, and programs that run with them in an isolated environment."""
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ["ROOFTILE_BUILD"])
LINKED = BUILD / "librooftile_blas.so.0"  # exports all symbols of BLAS, CBLAS and LAPACK
ALTERNATIVE = BUILD / "blas" / "libblas.so.3"
PRELOADED = BUILD / "blas" / "librooftile_preload.so"
LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
OPENBLAS = next(LIBRARIES.glob("openblas-*/libopenblas.so.0"))
REFERENCE_BLAS = LIBRARIES / "blas" / "libblas.so.3"


class Machine:
    """A home folder without a tuning database, or with one."""

    def __init__(self, home, database=None):
        self.home = home
        # Python from 3.12 on warns of every fork of a process that has threads.
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ROOFTILE_", "XDG_", "LD_"))}
        self.environment = dict(inherited, HOME=str(home), PYTHONWARNINGS="ignore:This process:DeprecationWarning",
                                **({"ROOFTILE_DB": str(database)} if database else {}))

    def run(self, *command, code=0, preload=None, stderr="", timeout=60, **environment):
        """Runs the program to its end. With stderr=None, it may print anything on stderr."""
        if preload is not None:
            environment["LD_PRELOAD"] = str(preload)
        run = subprocess.run([str(word) for word in command], cwd=self.home, capture_output=True, text=True, timeout=timeout,
                             env=dict(self.environment, **{k: str(v) for k, v in environment.items()}),
                             stdin=subprocess.DEVNULL)
        said = f"{run.args}: exit code {run.returncode}\n{run.stdout}{run.stderr}"
        assert run.returncode == code, said
        assert stderr is None or run.stderr == stderr, said
        return run

    def python(self, code, *arguments, **options):
        """Returns the output of a Python program, which may use library(path) (by ctypes) and square(library, n)."""
        return self.run(sys.executable, "-c", PRELUDE + code, *arguments, **options).stdout.strip()


PRELUDE = """
import ctypes, os, sys
def library(path=None):
    return ctypes.CDLL(path)
def mapped(*parts):
    maps = open('/proc/self/maps').read()
    return [part for part in parts if part in maps]
def square(blas, n, fill=1.0):
    a = (ctypes.c_float * (n * n))(*[fill] * (n * n))
    c = (ctypes.c_float * (n * n))()
    size, alpha, beta = ctypes.c_int(n), ctypes.c_float(1), ctypes.c_float(0)
    at = ctypes.byref
    blas.sgemm_(b'N', b'N', at(size), at(size), at(size), at(alpha), a, at(size), a, at(size), at(beta), c, at(size))
    assert all(x == n * fill * fill for x in c), list(c)[:4]
DEVICE = ('libvulkan.so', 'libvulkan_')
"""


@pytest.fixture
def untuned(tmp_path):
    return Machine(tmp_path)


@pytest.fixture(scope="session")
def planted(tmp_path_factory):
    database = tmp_path_factory.mktemp("planted") / "planted.db"
    subprocess.run([BUILD / "tests" / "write_tuned_database", database, "slow", "f64"], check=True)
    return database


@pytest.fixture
def tuned(tmp_path, planted):
    """A database whose device is always predicted to be faster for large calls; calls wait for their kernels."""
    database = tmp_path / "planted.db"
    database.write_bytes(planted.read_bytes())
    machine = Machine(tmp_path, database)
    machine.environment["ROOFTILE_DETERMINISTIC"] = "1"
    return machine
