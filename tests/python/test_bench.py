"""Every contestant of bench/python runs. Times are not judged."""
import os
import pathlib
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench" / "python" / "bench_python.py"


def test_every_contestant_runs():
    path = str(pathlib.Path(__file__).resolve().parents[2] / "python")
    done = subprocess.run([sys.executable, BENCH, "--rounds", "1", "--problems", "8", "--megabytes", "32"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": path}, timeout=110)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for begin in ("a @ b ", "rt.matmul(a, b) ", "rt.matmul(a, b, out=out)", "rt.matmul(a, b.T)", "rt.matmul(a, b) with a read-only b",
                  "rt.matmul(a, b, alpha=2)", "rt.matmul(a, x), 8192 x 8192", "import rooftile, wall", "import rooftile, processor", "numpy_patch: 8 random problems",
                  "DLPack: an operand of 32 MiB"):
        assert any(line.startswith(begin) for line in lines), f"no line '{begin}' in {done.stdout}"


def test_an_unknown_bench_is_refused():
    done = subprocess.run([sys.executable, BENCH, "--only", "call,speed"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(BENCH.parents[2] / "python")})
    assert done.returncode == 2 and "known: call, vector, import" in done.stderr
