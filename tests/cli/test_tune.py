"""Tunes the real device, and uses and shows the results."""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios

import numpy as np
import pytest

from conftest import PROGRAM, change
from tuned_device import OTHER_SIZES, SHORT, SIZES, SOME, count


def test_tune_prints_the_winners(tuned_folder):
    text = (tuned_folder / "last_run.txt").read_text()
    assert re.search(r"^96x80x112 nn +[\d.]+ +\d+% +[\d.]+x +(97%|default|open( \d+%)?) +\d+ .* [a-z_]+ \d+x\d+", text,
                     re.MULTILINE), text
    assert "`rooftile explain --m 96 --n 80 --k 112`" in text
    assert "1 of 1 problems" in text and str(tuned_folder / "rooftile.db") in text
    assert re.search(r"^untuned problems: (median regret -?[\d.]+ % \(95 % interval -?[\d.]+ to -?[\d.]+ %\)"
                     r"(, worst decile -?\d+ %)?, over \d+ problems|\d+ problems? compared; an estimate|fewer than two"
                     r"|not estimated: 1 of 1 problems have fewer than 16 candidates)",
                     text, re.MULTILINE), text


def test_recalibration_is_not_part_of_the_budget(tuned, tuned_folder):
    """The first run measures candidates although its budget is shorter than its calibration."""
    text = (tuned_folder / "first_run.txt").read_text()
    calibration_s = float(re.search(r"^calibration: ([\d.]+) s, not part of the budget$", text, re.MULTILINE).group(1))
    assert calibration_s > 1
    assert text.index("drift since") < text.index("not part of the budget") < text.index("vs host"), "before the table"
    assert count(tuned, "SELECT count(*) FROM calibrations") == 3, "the made-up one, the hasty one, and this"
    assert count(tuned, "SELECT count(*) FROM samples WHERE run_id = 1") > 0
    assert "not part of the budget" not in (tuned_folder / "last_run.txt").read_text(), "stored calibration is used"


def test_database_is_sound_and_report_has_its_columns(tuned):
    assert "sound" in tuned.run("db", "check").stdout
    text = tuned.run("report", "--calibration").stdout
    for word in ("96x80x112 nn", "calibrated", "compute", "bandwidth", "latency", "GFLOP/s"):
        assert word in text


def test_a_problem_that_no_machine_holds_is_a_failure(tuned):
    run = tuned.run("tune", "--m", 1000000, "--n", 1000000, "--k", 64, "--budget", "3s", code=1)
    assert "not tuned: its operands take" in run.stderr
    assert "as before this run\n" in run.stdout and "longer --budget" not in run.stdout


def test_the_seconds_of_a_run_add_up_to_it(tuned):
    run = json.loads(tuned.run("tune", *SIZES, "--budget", "2s", "--json").stdout)
    [device] = run["devices"]
    assert sum(device["seconds"].values()) == pytest.approx(device["elapsed_s"], rel=0.01)
    assert device["seconds"]["choosing"] > 0
    [reported] = json.loads(tuned.run("report", "--json").stdout)["devices"]
    assert reported["seconds"] == pytest.approx(device["seconds"], abs=1e-4) and reported["tuned_at"]
    assert f"tuned {reported['tuned_at']}, seconds: " in tuned.run("report").stdout


def test_report_json_has_the_winners(tuned):
    report = json.loads(tuned.run("report", "--json").stdout)
    assert report["database"] == str(tuned.database)
    [device] = report["devices"]
    [problem] = device["problems"]
    assert (problem["m"], problem["n"], problem["k"]) == (96, 80, 112)
    assert problem["gflops"] == pytest.approx(2 * 96 * 80 * 112 / problem["kernel_ns"])
    # A share above 1 is that of a disturbed calibration, as in this hasty one.
    assert problem["bound_ns"] > 0
    assert problem["roofline_share"] == pytest.approx(problem["bound_ns"] / problem["kernel_ns"])
    assert problem["verdict"] in ("faster", "default", "open") and problem["tried"] >= 1
    assert problem["default_kernel"] and problem["default_ns"] > 0
    assert {"device.fma.f32", "device.submit", "host.bandwidth.threads"} <= {f["name"] for f in device["calibration"]}


def test_calibrate_stores_figures_and_shows_their_drift(tuned, tuned_folder):
    """Of the hasty calibration, which was compared with the made-up one."""
    document = json.loads((tuned_folder / "calibrated.json").read_text())
    assert document["database"] == str(tuned_folder / "rooftile.db")
    [device] = document["devices"]
    figures = {figure["name"]: figure for figure in device["figures"]}
    second = "calibration_id = (SELECT id FROM calibrations ORDER BY id LIMIT 1 OFFSET 1)"
    assert count(tuned, f"SELECT count(*) FROM calibration_figures WHERE {second}") == len(figures)
    assert figures["host.fma.threads"]["value"] > 0
    for name in ("device.fma.f32", "device.compute_units", "device.level.memory.bandwidth", "host.bandwidth.threads"):
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
    tuned.save(a=rng.standard_normal((96, 112)).astype(np.float32), b=rng.standard_normal((112, 80)).astype(np.float32))
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
    # One thread must save 100 ns, or all threads are the host's time.
    saves = explained["host1_ns"] + 100 < explained["host_ns"]
    host = explained["host1_ns" if saves else "host_ns"]
    assert explained["score"] == pytest.approx(host / explained["device_ns"], rel=1e-6)
    assert (explained["tier"] == "device") == (explained["score"] > 1)
    assert "product = score" in tuned.run("explain", *SIZES).stdout


def test_a_finished_problem_is_not_tuned_again(tuned):
    timed = ("SELECT count(DISTINCT candidate_id) FROM samples WHERE purpose = 'search' AND run_id = "
             "(SELECT max(id) FROM runs)")
    # A kernel that a busy machine made too slow to be timed may be timed by one more run.
    for _ in range(4):
        run = tuned.run("tune", *SIZES, *SOME, "--budget", "40s", "--json")
        if count(tuned, timed) <= 1:
            break
    assert count(tuned, timed) <= 1, "only the winner is timed, beside the host"
    [device] = json.loads(run.stdout)["devices"]
    assert not device["out_of_budget"] and not device["interrupted"] and device["not_begun"] == []
    [problem] = device["problems"]
    assert problem["problem"] == {"m": 96, "n": 80, "k": 112, "type": "f32", "trans_a": False, "trans_b": False}
    assert problem["winner"] and problem["kernel_ns"] > 0 and 0 < problem["roof_share"]
    assert problem["gflops"] == pytest.approx(2 * 96 * 80 * 112 / problem["kernel_ns"])
    tuned.refuses("tune", "--refresh", "--json", says="cannot be used together", code=2)


def test_lists_made_stale_by_new_templates_are_refreshed(tuned):
    assert "nothing to refresh" in tuned.run("tune", "--refresh", "--budget", "20s").stdout
    change(tuned.database, "UPDATE candidates SET hash = 'old' || hash")  # simulates kernels from older templates
    tuned.save(a=np.ones((96, 112), dtype=np.float32), b=np.ones((112, 80), dtype=np.float32))
    on_device = ["gemm", "a.npy", "b.npy", "-o", "c.npy", "--tier", "device", "--verify"]
    tuned.refuses(*on_device, says="the certified kernel is not.*rooftile tune")
    assert "refreshed 1 of 1 problems" in tuned.run("tune", "--refresh", "--budget", "60s", timeout=90).stdout
    assert " device in " in tuned.run(*on_device).stdout
    assert "nothing to refresh" in tuned.run("tune", "--refresh", "--budget", "20s").stdout


def read_all(terminal):
    text = b""
    with contextlib.suppress(OSError):  # closing the last terminal raises
        while part := os.read(terminal, 4096):
            text += part
    os.close(terminal)
    return text.decode().replace("\r\n", "\n")


def test_on_terminals_the_progress_names_the_limiter_and_the_table_fits(tuned):
    (terminal, program), (screen, output) = pty.openpty(), pty.openpty()
    fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    fcntl.ioctl(output, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    tune = tuned.start("tune", *OTHER_SIZES, "--candidates", "5", "--budget", "60s", stdout=output, stderr=program)
    os.close(program)
    os.close(output)
    drawn = read_all(terminal)
    assert tune.wait(timeout=90) == 0
    assert re.search(r"130x67x259 nt: [\d.]+ GFLOP/s, \d+ % of roof, (math|tail|latency|stores|sums|barriers|broadcasts|memory:\w+)", drawn), drawn
    text = read_all(screen)
    assert [line for line in text.splitlines() if len(line) > 80] == [] and "\x1b" not in text
    assert re.search(r"^130x67x259 nt +[\d.]+ +\d+% .*\n  .*\n    [a-z_]+ \d+x\d+", text, re.MULTILINE), text


def test_problems_from_a_file(tuned):
    csv = tuned.folder / "shapes.csv"
    csv.write_text("m,n,k,trans_a,trans_b,batch,note\n33,35,37,0,1,1,small\n")
    assert "33x35x37 nt" in tuned.run("tune", "--shapes", csv, "--budget", "1s", code=SHORT).stdout
    csv.write_text("m,n,k,trans_a,trans_b,batch,type,epilogue,note\n33,35,37,0,1,1,f32,,a\n33,35,37,0,1,1,f16,,the same in f32\n")
    assert ", 1 problem, 1 s" in tuned.run("tune", "--shapes", csv, "--type", "bf16", "--budget", "1s", code=SHORT).stdout
    csv.write_text("m,n,k,trans_a,trans_b,batch,note\n33,35,minus,0,1,1,small\n")
    tuned.refuses("tune", "--shapes", csv, says=r"shapes\.csv.*2.*minus")


def test_types_that_nothing_rounds_faster_are_tuned_without_it(tuned):
    """Lavapipe has no matrix units that multiply bfloat16."""
    csv = tuned.folder / "shapes.csv"
    csv.write_text("m,n,k,trans_a,trans_b,batch,type,epilogue,note\n33,35,37,0,1,1,f32_half,,a\n33,35,37,0,1,1,f32,,the same in f32\n")
    run = tuned.run("tune", "--shapes", csv, "--budget", "1s", code=SHORT)
    assert ", 1 problem, 1 s" in run.stdout and "f32_half" not in run.stdout
    assert "types are tuned without _half (it needs matrix units for bfloat16) and without _int8 " in run.stderr
    tuned.refuses("tune", *SIZES, "--type", "f32_int8", says="_int8 is only for an A in f32 beside a quantised B", code=2)
    tuned.refuses("tune", *SIZES, "--trans-b", "--type", "f32xq8_0_int8_half", says="unknown types 'f32xq8_0_int8_half'", code=2)
    tuned.refuses("tune", *SIZES, "--type", "f16_half", says="_half is only for an A in f32", code=2)


def test_measurements_can_be_exported_and_replayed(tuned):
    said = tuned.run("db", "export-space", "space.csv", *SIZES).stdout
    lines = (tuned.folder / "space.csv").read_text().splitlines()
    known = json.loads(lines[0].removeprefix("# "))
    assert (known["problem"]["m"], known["problem"]["n"], known["problem"]["k"]) == (96, 80, 112)
    assert lines[1].startswith("family,tile_m,") and lines[1].endswith(",status,kernel_ns,mad_ns,count,pack_ns,compile_ns")
    candidates = count(tuned, "SELECT count(DISTINCT candidate_id) FROM samples JOIN problems ON problems.id = problem_id "
                              "WHERE m = 96 AND n = 80 AND k = 112 AND purpose <> 'portfolio'")
    assert len(lines) - 2 == candidates and f"{candidates} candidates of 96x80x112 nn" in said
    bench = pathlib.Path(PROGRAM).parent / "bench" / "rooftile-bench"
    if not bench.exists():
        pytest.skip("built without benches")
    replayed = subprocess.run([bench, "search", "space.csv", "--seeds", "3", "--candidates", "8", "--csv", "curves.csv"],
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
    rooftile.save(a=np.ones((m, k), np.float32), b=np.ones((k, n), np.float32))
    rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--tier", "device", **environment)


@pytest.mark.parametrize("command", [["tune", *SIZES], ["calibrate"]])
def test_a_blas_that_cannot_be_loaded_is_missed_at_the_start(rooftile, command):
    rooftile.refuses(*command, code=2, says="ROOFTILE_BLAS names a library that cannot be used", ROOFTILE_BLAS="/nothere.so")


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
        run = tuned.run("tune", "--from-log", "--budget", "3s", code=SHORT)
        assert "33x35x37 nn" in run.stdout and "3x35x30" not in run.stdout
        if logged(tuned) == 1:
            break
    assert "1 logged problem left" in run.stdout
    multiply(tuned, 33, 35, 37)
    assert logged(tuned) == 1


def test_tune_prints_and_stores_disturbances(tuned, tuned_folder):
    assert re.search(r"^noise: \d+ samples resampled, \d+ flagged noisy", (tuned_folder / "last_run.txt").read_text(), re.MULTILINE)
    assert count(tuned, "SELECT sum(reference_readings) FROM run_noise") >= 3
