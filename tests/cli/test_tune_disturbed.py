"""Tunes the real device while what systems do happens: slow devices, clocks that jump, folders that are full, little time."""
import contextlib
import os
import pathlib
import re
import signal
import threading
import time

import pytest

from tuned_device import OTHER_SIZES, SHORT, count, start_search, wait_until, workers_of

# Debian's faketime; not its program of this name, which cannot change the date of a running program.
FAKETIME = next(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
UNDER_WAY_S = 5  # At the end of a budget one compilation or certificate may be under way.


def short_tune(tuned, budget):
    start = time.monotonic()
    run = tuned.run("tune", *OTHER_SIZES, "--budget", budget, code=SHORT)
    assert "1 problem, " in run.stdout
    return time.monotonic() - start


def slowness(tuned):
    """How many times as slow as an idle machine this one is: there, a run that measures nothing takes 0.2 s."""
    return max(1, short_tune(tuned, "0.01s") / 0.2)


def test_small_budget_is_kept(tuned):
    before, seconds, after = slowness(tuned), short_tune(tuned, "1s"), slowness(tuned)
    assert seconds < 1 + UNDER_WAY_S * max(before, after)


def tune_until_certified(tuned, budget_s, disturbance, late_s):
    """Tunes under a disturbance, as often as it takes until a kernel is certified: on a busy machine one run may not be enough,
    and the next one continues. late_s: by how much a run may exceed its budget."""
    for _ in range(4):
        tune = start_search(tuned, budget=f"{budget_s}s")
        with disturbance(tuned):
            out, err = tune.communicate(timeout=budget_s + late_s)
        assert tune.returncode in SHORT and "130x67x259 nt" in out, out + err
        assert "black-listed" not in out + err
        if "no certified kernel yet" not in out:
            return
    pytest.fail(out)


@contextlib.contextmanager
def slowed_by_ten(rooftile):
    """Lets the workers run for a tenth of the time, as a device in thermal throttling or a shared one does."""
    ended = threading.Event()

    def slow():
        while not ended.is_set():
            workers = workers_of(rooftile)
            for number, seconds in ((signal.SIGSTOP, 0.045), (signal.SIGCONT, 0.005)):
                for worker in workers:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(worker, number)
                ended.wait(seconds)

    thread = threading.Thread(target=slow)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_a_device_that_slows_by_ten_costs_no_kernel_and_no_time(tuned):
    tune_until_certified(tuned, 6, slowed_by_ten, 10 * UNDER_WAY_S)


@contextlib.contextmanager
def jumping_clock(rooftile):
    for jump in ("+365d", "-10950d"):
        (rooftile.folder / "date").write_text(jump)
        time.sleep(1)
    yield


def test_a_clock_that_jumps_costs_no_kernel_and_no_time(tuned):
    """The machine's date jumps a year ahead and then thirty years back while a problem is tuned."""
    date = tuned.folder / "date"
    date.write_text("+0")
    tuned.environment.update(LD_PRELOAD=str(FAKETIME), FAKETIME_TIMESTAMP_FILE=str(date), FAKETIME_NO_CACHE="1",
                             FAKETIME_DONT_FAKE_MONOTONIC="1")
    tune_until_certified(tuned, 5, jumping_clock, 2 * UNDER_WAY_S * slowness(tuned))
    assert "sound" in tuned.run("db", "check").stdout
    assert "130x67x259" in tuned.run("report").stdout


@pytest.mark.parametrize("folder", ["a file", "/proc/no/folder"])
def test_a_cache_folder_that_cannot_be_written_costs_nothing_but_time(tuned, folder):
    """A full or read-only file system looks the same: no file can be made there."""
    (tuned.folder / "a file").write_text("x")
    tuned.environment["XDG_CACHE_HOME"] = str(tuned.folder / folder)
    tune = start_search(tuned)
    measured = "SELECT count(*) FROM samples JOIN problems ON problems.id = problem_id WHERE m = 130 AND status = 'measured'"
    wait_until(lambda: count(tuned, measured) > 0, "a measurement")
    tune.send_signal(signal.SIGINT)
    out, err = tune.communicate(timeout=10 * UNDER_WAY_S)
    assert tune.returncode == 130 and "interrupted: the next run continues from here" in out, out + err


def test_problems_without_time_are_named(tuned):
    csv = tuned.folder / "shapes.csv"
    sizes = [(1500 + i, 1400, 1300) for i in range(8)]
    csv.write_text("m,n,k,trans_a,trans_b,batch,note\n" + "".join(f"{m},{n},{k},0,0,1,x\n" for m, n, k in sizes))
    text = tuned.run("tune", "--shapes", csv, "--budget", "1s", code=SHORT, timeout=60).stdout
    begun = [m for m, n, k in sizes if re.search(rf"^{m}x{n}x{k} nn ", text, re.MULTILINE)]
    assert len(begun) < len(sizes), text
    missing = re.search(r"^not begun: (.*)$", text, re.MULTILINE)[1].split(", ")
    assert missing == [f"{m}x{n}x{k} nn" for m, n, k in sizes if m not in begun]
    assert "out of budget" in text
