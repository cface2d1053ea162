"""Tunes the real device while processes are interrupted and killed, and beside another tuner."""
import signal
import subprocess

from tuned_device import OTHER_SIZES, SHORT, SIZES, count, start_search, wait_until, workers_of


def test_interrupted_calibration_stores_nothing(tuned):
    before = count(tuned, "SELECT count(*) FROM calibrations"), tuned.run("query", "SELECT * FROM winners").stdout
    runs = count(tuned, "SELECT count(*) FROM runs")
    tune = tuned.start("tune", *SIZES, "--recalibrate", "--budget", "20s", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: count(tuned, "SELECT count(*) FROM runs") > runs and workers_of(tuned), "a worker")
    tune.send_signal(signal.SIGINT)
    out, err = tune.communicate(timeout=30)
    assert tune.returncode == 130
    assert "stopping; another Ctrl-C ends it at once" in err
    assert "interrupted while calibrating: no measurement was stored" in err
    assert "not part of the budget" not in out
    assert (count(tuned, "SELECT count(*) FROM calibrations"), tuned.run("query", "SELECT * FROM winners").stdout) == before
    wait_until(lambda: not workers_of(tuned), "the worker's end", seconds=10)


def handled(pid):
    """The signals that a process handles."""
    [mask] = [line.split()[1] for line in open(f"/proc/{pid}/status") if line.startswith("SigCgt:")]
    return {number for number in signal.Signals if int(mask, 16) >> (number - 1) & 1}


def test_interrupted_tuning_ends_soon_and_blames_no_kernel(tuned):
    tune = start_search(tuned)
    assert {signal.SIGINT, signal.SIGTERM, signal.SIGHUP} <= handled(tune.pid)  # all by the same function
    for _ in range(2):  # as GNU timeout does
        tune.send_signal(signal.SIGTERM)
    out, _ = tune.communicate(timeout=15)
    assert tune.returncode == 130
    assert "interrupted: the next run continues from here" in out
    assert count(tuned, "SELECT count(*) FROM journal") == 0, "no kernel is blamed"
    wait_until(lambda: not workers_of(tuned), "the worker's end", seconds=10)
    assert "sound" in tuned.run("db", "check").stdout


def test_killed_tuner_leaves_no_worker_and_continues(tuned):
    tune = start_search(tuned)
    wait_until(lambda: workers_of(tuned), "a worker")
    tune.kill()
    tune.communicate()
    wait_until(lambda: not workers_of(tuned), "the workers' end", seconds=10)
    assert "sound" in tuned.run("db", "check").stdout
    measured = count(tuned, "SELECT count(*) FROM samples")
    run = tuned.run("tune", *OTHER_SIZES, "--budget", "2s", code=SHORT)
    assert "130x67x259 nt" in run.stdout
    assert count(tuned, "SELECT count(*) FROM samples") > measured
    assert "sound" in tuned.run("db", "check").stdout


def test_two_tuners_at_once(tuned):
    runs = [tuned.start("tune", *sizes, "--budget", "2s", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for sizes in (OTHER_SIZES, ["--m", 33, "--n", 35, "--k", 37])]
    for run in runs:
        out, err = run.communicate(timeout=60)
        assert run.returncode in SHORT, out + err
    assert "sound" in tuned.run("db", "check").stdout
