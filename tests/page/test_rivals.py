"""Every contestant of bench/web/compare_rivals.py, where its libraries were installed by a run of it."""
import pathlib
import re
import subprocess

import pytest

from conftest import PROGRAM, need_assets

BENCH = pathlib.Path(__file__).parents[2] / "bench" / "web"
READY = pathlib.Path.home() / ".cache" / "rooftile-web-rivals" / "ready"


def test_all_contestants_compute_the_same():
    need_assets()
    if not READY.is_file():
        pytest.skip("onnxruntime-web and TensorFlow.js are not installed: run bench/web/compare_rivals.py")
    run = subprocess.run(["/usr/bin/python3", BENCH / "compare_rivals.py", "--program", PROGRAM, "--budget", "2", "--rounds", "1",
                          "--problem", "64x96x128"], capture_output=True, text=True, timeout=200)
    assert run.returncode == 0, run.stderr
    lines = re.findall(r"^  (\S+).* ms .* x  error ([\d.]+)$", run.stdout, re.MULTILINE)
    assert [name for name, _ in lines] == ["Rooftile", "4x4", "onnxruntime-web", "TensorFlow.js"], run.stdout
    assert all(float(error) < 1 for _, error in lines), run.stdout
