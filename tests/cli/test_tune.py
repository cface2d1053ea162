"""Tunes the real device, uses the results, and interrupts tuning in the ways that users and systems do."""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import termios
import threading
import time

import numpy as np
import pytest

from conftest import PROGRAM, Rooftile

SIZES = ["--m", 96, "--n", 80, "--k", 112]
OTHER_SIZES = ["--m", 130, "--n", 67, "--k", 259, "--trans-b"]
# Exit codes of a run of a few seconds: on a busy machine no kernel may be certified by then.
SHORT = (0, 1)
# Debian's faketime; not its program of this name, which cannot change the date of a running program.
FAKETIME = next(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))


@pytest.fixture(scope="module")
def tuned_once(tmp_path_factory):
    """One calibration and one tuned problem for the whole file, because calibration takes some fifteen seconds."""
    rooftile = Rooftile(tmp_path_factory.mktemp("tuned"))
    rooftile.first_run = rooftile.run("tune", *SIZES, "--budget", "15s", timeout=150)
    # On a busy machine one run may not be enough; the next run then continues, as the message says.
    for _ in range(4):
        rooftile.tune_run = rooftile.run("tune", *SIZES, "--budget", "45s", timeout=150)
        if "1 of 1 problems" in rooftile.tune_run.stdout and "no certified kernel yet" not in rooftile.tune_run.stdout:
            break
    return rooftile


@pytest.fixture
def tuned(tuned_once, tmp_path):
    """A copy of the calibrated database in a folder of its own."""
    for file in tuned_once.folder.glob("rooftile.db*"):
        shutil.copy(file, tmp_path)
    return Rooftile(tmp_path)


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
    """Starts tuning the other problem, and waits for its first samples."""
    before = count(rooftile, "SELECT count(*) FROM samples")
    tune = rooftile.start("tune", *OTHER_SIZES, "--budget", budget, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: count(rooftile, "SELECT count(*) FROM samples") > before, "a sample")
    return tune


def test_tune_prints_the_winners(tuned_once):
    text = tuned_once.tune_run.stdout
    assert re.search(r"^96x80x112 nn +[\d.]+ +\d+% +[\d.]+x +(97%|default|open( \d+%)?) +\d+ .* [a-z_]+ \d+x\d+", text,
                     re.MULTILINE), text
    assert "1 of 1 problems" in text and str(tuned_once.database) in text
    assert re.search(r"^untuned problems: (median regret -?[\d.]+ % \(95 % interval -?[\d.]+ to -?[\d.]+ %\)"
                     r"(, worst decile -?\d+ %)?, over \d+ problems|\d+ problems were compared; an estimate|fewer than two"
                     r"|not estimated: 1 of 1 problems have fewer than 16 candidates)",
                     text, re.MULTILINE), text


def test_calibration_is_not_part_of_the_budget(tuned_once):
    """The first run measures candidates although its budget is shorter than its calibration."""
    text = tuned_once.first_run.stdout
    calibration_s = float(re.search(r"^calibration: ([\d.]+) s, not part of the budget$", text, re.MULTILINE).group(1))
    assert calibration_s > 1
    assert count(tuned_once, "SELECT count(*) FROM samples WHERE run_id = 1") > 0
    assert "not part of the budget" not in tuned_once.tune_run.stdout, "stored calibration is used"


def test_recalibration_is_not_part_of_the_budget(tuned):
    before = count(tuned, "SELECT count(*) FROM samples"), count(tuned, "SELECT count(*) FROM calibrations")
    text = tuned.run("tune", *OTHER_SIZES, "--recalibrate", "--budget", "2s", code=SHORT, timeout=150).stdout
    assert re.search(r"^calibration: [\d.]+ s, not part of the budget$", text, re.MULTILINE), text
    assert text.index("drift since") < text.index("not part of the budget") < text.index("vs host"), "before the table"
    assert count(tuned, "SELECT count(*) FROM samples") > before[0]
    assert count(tuned, "SELECT count(*) FROM calibrations") == before[1] + 1


def test_interrupted_calibration_stores_nothing(tuned):
    before = count(tuned, "SELECT count(*) FROM calibrations"), tuned.run("query", "SELECT * FROM winners").stdout
    runs = count(tuned, "SELECT count(*) FROM runs")
    tune = tuned.start("tune", *SIZES, "--recalibrate", "--budget", "20s", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: count(tuned, "SELECT count(*) FROM runs") > runs and workers_of(tuned), "a worker")
    tune.send_signal(signal.SIGINT)
    out, err = tune.communicate(timeout=30)
    assert tune.returncode == 130
    assert "interrupted while calibrating: no measurement was stored" in err
    assert "not part of the budget" not in out
    assert (count(tuned, "SELECT count(*) FROM calibrations"), tuned.run("query", "SELECT * FROM winners").stdout) == before
    assert workers_of(tuned) == []


def test_database_is_sound_and_report_has_its_columns(tuned):
    assert "sound" in tuned.run("db", "check").stdout
    text = tuned.run("report", "--calibration").stdout
    for word in ("96x80x112 nn", "calibrated", "compute", "bandwidth", "latency", "GFLOP/s"):
        assert word in text


def test_report_json_has_the_winners(tuned):
    report = json.loads(tuned.run("report", "--json").stdout)
    assert report["database"] == str(tuned.database)
    [device] = report["devices"]
    [problem] = device["problems"]
    assert (problem["m"], problem["n"], problem["k"]) == (96, 80, 112)
    assert problem["gflops"] == pytest.approx(2 * 96 * 80 * 112 / problem["kernel_ns"])
    assert problem["bound_ns"] <= problem["kernel_ns"]
    assert problem["verdict"] in ("faster", "default", "open") and problem["tried"] >= 1
    assert problem["default_kernel"] and problem["default_ns"] > 0
    assert {"device.fma.f32", "device.submit", "host.bandwidth.threads"} <= {f["name"] for f in device["calibration"]}


def test_calibrate_stores_figures_and_shows_their_drift(tuned):
    """Uses the calibrated database, so that the new calibration can be compared with an old one."""
    before = count(tuned, "SELECT count(*) FROM calibrations")
    document = json.loads(tuned.run("calibrate", "--json", timeout=150).stdout)
    assert document["database"] == str(tuned.database)
    [device] = document["devices"]
    assert count(tuned, "SELECT count(*) FROM calibrations") == before + 1
    figures = {figure["name"]: figure for figure in device["figures"]}
    for name in ("device.fma.f32", "device.compute_units", "device.level.memory.bandwidth", "host.fma.threads"):
        figure = figures[name]
        assert figure["value"] > 0 and figure["mad"] >= 0 and figure["count"] >= 1
        assert figure["ratio"] == pytest.approx(figure["value"] / figure["before"]["value"])
        moved = abs(figure["value"] - figure["before"]["value"])
        joint = np.hypot(figure["mad"], figure["before"]["mad"]) * 1.4826
        assert figure["beyond_spread"] == (moved > 2 * joint)
    assert set(device["calibration_ratios"]) == {"compute", "bandwidth", "latency"}
    parts = {part["name"]: part["seconds"] for part in device["parts"]}
    assert {"device kernels", "device memory levels", "device rounds", "host peaks", "host products"} <= set(parts)
    assert min(parts.values()) > 0 and sum(parts.values()) <= device["elapsed_s"]
    assert "device.compute_units" in tuned.run("report", "--calibration").stdout


def test_device_tier_computes_right_and_the_same_each_time(tuned):
    rng = np.random.default_rng(3)
    np.save(tuned.folder / "a.npy", rng.standard_normal((96, 112)).astype(np.float32))
    np.save(tuned.folder / "b.npy", rng.standard_normal((112, 80)).astype(np.float32))
    results = []
    for _ in range(2):
        run = tuned.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--tier", "device", "--verify")
        assert " device in " in run.stdout and "verified" in run.stdout
        results.append((tuned.folder / "c.npy").read_bytes())
    assert results[0] == results[1]


def test_explain_multiplies_seven_factors(tuned):
    explained = json.loads(tuned.run("explain", *SIZES, "--json").stdout)
    assert len(explained["factors"]) == 7
    assert np.prod([f["value"] for f in explained["factors"]]) == pytest.approx(explained["score"], rel=1e-6)
    host = min(explained["host_ns"], explained["host1_ns"])
    assert explained["score"] == pytest.approx(host / explained["device_ns"], rel=1e-6)
    assert (explained["tier"] == "device") == (explained["score"] > 1)
    assert "product = score" in tuned.run("explain", *SIZES).stdout


def test_a_finished_problem_is_not_tuned_again(tuned):
    run = tuned.run("tune", *SIZES, "--budget", "40s")
    assert "1 of 1 problems" in run.stdout and "out of budget" not in run.stdout


def test_lists_made_stale_by_new_templates_are_refreshed(tuned):
    assert "nothing to refresh" in tuned.run("tune", "--refresh", "--budget", "20s").stdout
    connection = sqlite3.connect(tuned.database)
    connection.execute("UPDATE candidates SET hash = 'old' || hash")  # simulates kernels from older templates
    connection.commit()
    connection.close()
    np.save(tuned.folder / "a.npy", np.ones((96, 112), dtype=np.float32))
    np.save(tuned.folder / "b.npy", np.ones((112, 80), dtype=np.float32))
    on_device = ["gemm", "a.npy", "b.npy", "-o", "c.npy", "--tier", "device", "--verify"]
    tuned.refuses(*on_device, says="the certified kernel is not.*rooftile tune")
    assert "refreshed 1 of 1 problems" in tuned.run("tune", "--refresh", "--budget", "60s", timeout=90).stdout
    assert " device in " in tuned.run(*on_device).stdout
    assert "nothing to refresh" in tuned.run("tune", "--refresh", "--budget", "20s").stdout


def test_progress_on_a_terminal_names_the_limiter(tuned):
    terminal, program = pty.openpty()
    fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    tune = tuned.start("tune", *OTHER_SIZES, "--budget", "6s", stdout=subprocess.DEVNULL, stderr=program)
    os.close(program)
    drawn = b""
    with contextlib.suppress(OSError):  # closing the last terminal raises
        while part := os.read(terminal, 4096):
            drawn += part
    os.close(terminal)
    assert tune.wait(timeout=30) == 0
    assert re.search(r"130x67x259 nt: [\d.]+ GFLOP/s, \d+ % of roof, (math|tail|latency|memory:\w+)", drawn.decode()), drawn


def test_small_budget_is_kept(tuned):
    start = time.monotonic()
    run = tuned.run("tune", *OTHER_SIZES, "--budget", "3s", code=SHORT)
    assert time.monotonic() - start < 3 + 5  # One compilation or certificate may be under way.
    assert "1 problems" in run.stdout


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
    tune = start_search(tuned, budget="12s")
    start = time.monotonic()
    with slowed_by_ten(tuned):
        out, err = tune.communicate(timeout=60)
    assert time.monotonic() - start < 12 + 10  # What is under way at the end takes ten times as long.
    assert tune.returncode == 0, out + err
    assert "130x67x259 nt" in out and "no certified kernel yet" not in out, out
    assert "black-listed" not in out + err


def test_a_clock_that_jumps_costs_no_kernel_and_no_time(tuned):
    """The machine's date jumps a year ahead and then thirty years back while a problem is tuned."""
    date = tuned.folder / "date"
    date.write_text("+0")
    tuned.environment.update(LD_PRELOAD=str(FAKETIME), FAKETIME_TIMESTAMP_FILE=str(date), FAKETIME_NO_CACHE="1",
                             FAKETIME_DONT_FAKE_MONOTONIC="1")
    start = time.monotonic()
    tune = start_search(tuned, budget="8s")
    for jump in ("+365d", "-10950d"):
        date.write_text(jump)
        time.sleep(1)
    out, err = tune.communicate(timeout=60)
    assert time.monotonic() - start < 8 + 10
    assert tune.returncode == 0, out + err
    assert "130x67x259 nt" in out and "no certified kernel yet" not in out, out
    assert "black-listed" not in out + err
    assert "sound" in tuned.run("db", "check").stdout
    assert "130x67x259" in tuned.run("report").stdout


@pytest.mark.parametrize("folder", ["a file", "/proc/no/folder"])
def test_a_cache_folder_that_cannot_be_written_costs_nothing_but_time(tuned, folder):
    """A full or read-only file system looks the same: no file can be made there."""
    (tuned.folder / "a file").write_text("x")
    run = tuned.run("tune", *OTHER_SIZES, "--budget", "8s", code=SHORT, timeout=60, XDG_CACHE_HOME=str(tuned.folder / folder))
    assert "130x67x259 nt" in run.stdout
    assert count(tuned, "SELECT count(*) FROM samples JOIN problems ON problems.id = problem_id WHERE m = 130") > 0


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_tuning_ends_soon_and_continues(tuned, number):
    tune = start_search(tuned)
    tune.send_signal(number)
    out, _ = tune.communicate(timeout=15)
    assert tune.returncode == 130
    assert "interrupted: the next run continues from here" in out
    assert workers_of(tuned) == []
    measured = count(tuned, "SELECT count(*) FROM samples")
    tuned.run("tune", *OTHER_SIZES, "--budget", "8s", code=SHORT)
    assert count(tuned, "SELECT count(*) FROM samples") > measured  # tuning continued
    assert "sound" in tuned.run("db", "check").stdout


def test_killed_tuner_leaves_no_worker_and_continues(tuned):
    tune = start_search(tuned)
    wait_until(lambda: workers_of(tuned), "a worker")
    tune.kill()
    tune.communicate()
    wait_until(lambda: not workers_of(tuned), "the workers' end", seconds=10)
    assert "sound" in tuned.run("db", "check").stdout
    run = tuned.run("tune", *OTHER_SIZES, "--budget", "10s", code=SHORT)
    assert "130x67x259 nt" in run.stdout
    assert "sound" in tuned.run("db", "check").stdout


def test_killed_worker_does_not_stop_the_tuner(tuned):
    tune = start_search(tuned, budget="15s")
    [worker, *_] = wait_until(lambda: workers_of(tuned), "a worker")
    before = count(tuned, "SELECT count(*) FROM samples")
    os.kill(worker, signal.SIGKILL)
    out, err = tune.communicate(timeout=60)
    assert tune.returncode in SHORT, err
    assert "130x67x259 nt" in out, out + err
    assert count(tuned, "SELECT count(*) FROM samples") > before
    # The killed worker's kernel is not blocked.
    assert "was killed from outside" not in tuned.run("db", "black-list").stdout


def test_two_tuners_at_once(tuned):
    runs = [tuned.start("tune", *sizes, "--budget", "8s", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for sizes in (OTHER_SIZES, ["--m", 33, "--n", 35, "--k", 37])]
    for run in runs:
        out, err = run.communicate(timeout=60)
        assert run.returncode in SHORT, out + err
    assert "sound" in tuned.run("db", "check").stdout


def test_problems_from_a_file(tuned):
    csv = tuned.folder / "shapes.csv"
    csv.write_text("m,n,k,trans_a,trans_b,batch,note\n33,35,37,0,1,1,small\n")
    assert "33x35x37 nt" in tuned.run("tune", "--shapes", csv, "--budget", "6s", code=SHORT).stdout
    csv.write_text("m,n,k,trans_a,trans_b,batch,note\n33,35,minus,0,1,1,small\n")
    tuned.refuses("tune", "--shapes", csv, says=r"shapes\.csv.*2.*minus")


def test_measurements_can_be_exported_and_replayed(tuned):
    said = tuned.run("db", "export-space", "space.csv", *SIZES).stdout
    lines = (tuned.folder / "space.csv").read_text().splitlines()
    known = json.loads(lines[0].removeprefix("# "))
    assert (known["problem"]["m"], known["problem"]["n"], known["problem"]["k"]) == (96, 80, 112)
    assert lines[1].startswith("family,tile_m,") and lines[1].endswith(",status,kernel_ns,mad_ns,count,pack_ns,compile_ns")
    candidates = count(tuned, "SELECT count(DISTINCT candidate_id) FROM samples JOIN problems ON problems.id = problem_id "
                              "WHERE m = 96 AND n = 80 AND k = 112 AND purpose <> 'portfolio'")
    assert len(lines) - 2 == candidates and f"{candidates} candidates of 96x80x112 nn" in said
    bench = pathlib.Path(PROGRAM).parent / "bench" / "bench_search"
    if not bench.exists():
        pytest.skip("built without benches")
    replayed = subprocess.run([bench, "space.csv", "--seeds", "3", "--candidates", "8", "--csv", "curves.csv"],
                              cwd=tuned.folder, capture_output=True, text=True, check=True).stdout
    assert re.search(r"^  auto +4: ", replayed, re.MULTILINE)
    # A curve has one line per candidate: a share between 0 and 1 and its interval.
    for line in (tuned.folder / "curves.csv").read_text().splitlines()[1:]:
        low, high = (float(x) for x in line.split(",")[-2:])
        assert 0 <= low <= high <= 1


@pytest.mark.parametrize("arguments, code, says", [
    (["space.csv", *OTHER_SIZES], 1, "no measurements of 130x67x259 nt.*--strategy exhaustive"),
    (["space.csv", *SIZES, "--device", "nobody's"], 1, "no device.*nobody's"),
    (["/nowhere/space.csv", *SIZES], 1, "/nowhere"),
    (["space.csv"], 2, "--m"),
])
def test_export_says_what_is_missing(tuned, arguments, code, says):
    tuned.refuses("db", "export-space", *arguments, code=code, says=says)
    assert not (tuned.folder / "space.csv").exists()


def logged(rooftile):
    return count(rooftile, "SELECT count(*) FROM untuned_problems")


def multiply(rooftile, m, n, k, **environment):
    np.save(rooftile.folder / "a.npy", np.ones((m, k), np.float32))
    np.save(rooftile.folder / "b.npy", np.ones((k, n), np.float32))
    rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--tier", "device", **environment)


def test_untuned_problems_are_tuned_from_the_log(tuned):
    multiply(tuned, 33, 35, 37, ROOFTILE_LOG_UNTUNED="off")
    assert logged(tuned) == 0
    tuned.refuses("tune", "--from-log", says="no untuned problem is logged.*ROOFTILE_LOG_UNTUNED")
    for _ in range(2):
        multiply(tuned, 33, 35, 37)
    multiply(tuned, 3, 35, 30)
    assert logged(tuned) == 2
    assert count(tuned, "SELECT calls FROM untuned_problems WHERE m = 33") == 2
    # The budget suffices for one problem, the more frequent one. On a busy machine this may take more than one run.
    for _ in range(4):
        run = tuned.run("tune", "--from-log", "--budget", "9s")
        assert "33x35x37 nn" in run.stdout and "3x35x30" not in run.stdout
        if logged(tuned) == 1:
            break
    assert "1 logged problems remain" in run.stdout
    multiply(tuned, 33, 35, 37)
    assert logged(tuned) == 1


def test_tune_prints_and_stores_disturbances(tuned_once):
    assert re.search(r"^noise: \d+ samples resampled, \d+ flagged noisy", tuned_once.tune_run.stdout, re.MULTILINE)
    assert count(tuned_once, "SELECT sum(reference_readings) FROM run_noise") >= 3
