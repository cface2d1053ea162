"""A calibrated device with one tuned problem, and what its tests share.

As a program it makes the folder that it is given. ctest runs it once for all tests that need it, because calibration and
tuning take some forty seconds; a test that runs without ctest makes a folder of its own (conftest.py).
"""
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

from conftest import Rooftile, change

SIZES = ["--m", 96, "--n", 80, "--k", 112]
SOME = ["--candidates", 12]  # The search of these ends before its budget does.
OTHER_SIZES = ["--m", 130, "--n", 67, "--k", 259, "--trans-b"]
# Exit codes of a run of a few seconds: on a busy machine no kernel may be certified by then.
SHORT = (0, 1)


def plant_calibration(rooftile):
    """Writes a made-up calibration of the device, with which the next one is compared."""
    subprocess.run([os.environ["ROOFTILE_WRITE_DATABASE"], rooftile.database, "fast"], check=True)
    for table in ("winners", "certificates", "problems", "candidates"):
        change(rooftile.database, f"DELETE FROM {table}")


def tune(folder):
    """Calibrates in haste, then with the first tuning of one problem; what these runs printed lies beside the database."""
    rooftile = Rooftile(folder)
    plant_calibration(rooftile)
    (folder / "calibrated.json").write_text(rooftile.run("calibrate", "--budget", "1s", "--json", timeout=150).stdout)
    first = rooftile.run("tune", *SIZES, *SOME, "--recalibrate", "--budget", "8s", timeout=150)
    # On a busy machine one run may not be enough; the next run then continues, as the message says.
    for _ in range(4):
        last = rooftile.run("tune", *SIZES, *SOME, "--budget", "45s", timeout=150)
        if "1 of 1 problems" in last.stdout and "no certified kernel yet" not in last.stdout:
            break
    for name, run in (("first_run", first), ("last_run", last)):
        (folder / f"{name}.txt").write_text(run.stdout)
        (folder / f"{name}.err").write_text(run.stderr)


def count(rooftile, sql):
    return int(rooftile.run("query", sql).stdout.split()[-1])


def workers_of(rooftile):
    """Process ids of `rooftile worker` with this test's environment."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if b"worker" in (process / "cmdline").read_bytes().split(b"\0") and (
                    f"HOME={rooftile.folder}".encode() in (process / "environ").read_bytes().split(b"\0")):
                found.append(int(process.name))
        except OSError:
            pass  # The process ended meanwhile.
    return found


def wait_until(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    pytest.fail(f"{what} did not happen within {seconds} s")


def start_search(rooftile, budget="60s"):
    """Starts tuning the other problem, and waits for its first samples, or for its end where the budget is spent before."""
    before = count(rooftile, "SELECT count(*) FROM samples")
    tune = rooftile.start("tune", *OTHER_SIZES, "--budget", budget, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: tune.poll() is not None or count(rooftile, "SELECT count(*) FROM samples") > before, "a sample")
    return tune


if __name__ == "__main__":
    made = pathlib.Path(sys.argv[1])
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    tune(made)
