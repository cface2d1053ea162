"""Tunes grouped problems on the real device, from the log and by options, and shows, explains and shares them."""
import json
import sqlite3

from tuned_device import SHORT

GROUPED = ["--groups", 5, "--experts", 6, "--m", 83, "--n", 45, "--k", 37]
NAME = "83x45x37 nn in 5 groups of 6 experts"
BUCKET = "f32.nn.m6.n5.k5.b0.g2.s0"


def log(database):
    """What a program leaves that has made seven such calls."""
    with sqlite3.connect(database) as connection:
        connection.execute("DELETE FROM untuned_problems")
        connection.execute(
            "INSERT INTO untuned_problems (device_id, calls, type, trans_a, trans_b, m, n, k, batch, lda, ldb, ldc, stride_a, "
            "stride_b, stride_c, epilogue, alpha, beta, experts, groups, largest, bucket) VALUES "
            f"(1, 7, 'f32', 'n', 'n', 83, 45, 37, 1, 37, 45, 45, 0, {45 * 37}, 0, '', 1, 0, 6, 5, 0, '{BUCKET}')")
    connection.close()


def test_a_logged_grouped_problem_is_tuned_used_shown_and_shared(tuned, tmp_path):
    log(tuned.database)
    # On a busy machine a short run may certify no kernel; the next one continues.
    for _ in range(4):
        run = json.loads(tuned.run("tune", "--from-log", "--budget", "4s", "--json", code=SHORT).stdout)
        [problem] = run["devices"][0]["problems"]
        if problem["winner"]:
            break
    assert problem["problem"] == {"m": 83, "n": 45, "k": 37, "type": "f32", "trans_a": False, "trans_b": False,
                                  "groups": 5, "experts": 6, "largest": 0}
    kernel = problem["winner"]
    assert kernel and problem["kernel_ns"] > 0
    assert "no untuned problem" in tuned.run("tune", "--from-log", code=1).stderr

    explained = json.loads(tuned.run("explain", *GROUPED, "--resident", "a,b,c", "--json").stdout)
    assert explained["problem"] == NAME + " f32" and explained["means"] == "tuned" and explained["kernel"] == kernel
    assert explained["measured"]["kernel_ns"] > 0
    assert {flip["size"] for flip in explained["counterfactual"]["flips"]} <= {"m", "n", "k"}
    # Other sizes of the same bucket have the same kernel.
    other = json.loads(tuned.run("explain", "--groups", 4, "--m", 70, "--n", 40, "--k", 33, "--json").stdout)
    assert other["kernel"] == kernel and other["measured"]["kernel_ns"] is None

    assert NAME in tuned.run("report").stdout
    assert kernel in tuned.run("report", "--problem", "83,45,37", "--groups", 5, "--experts", 6).stdout
    report = json.loads(tuned.run("report", "--json").stdout)
    assert [(p["groups"], p["experts"]) for p in report["devices"][0]["problems"] if "groups" in p] == [(5, 6)]
    tuned.run("report", "--html", tmp_path / "report.html")
    found = tuned.run("query", "SELECT bucket FROM best_kernels WHERE groups = 5 AND experts = 6 AND largest = 0").stdout
    assert BUCKET in found

    tuned.run("db", "export", tmp_path / "exported.db")
    other = str(tmp_path / "other.db")
    tuned.run("db", "import", tmp_path / "exported.db", ROOFTILE_DB=other)
    shared = tuned.run("query", "SELECT bucket FROM imported_kernels WHERE experts = 6", ROOFTILE_DB=other).stdout
    assert BUCKET in shared


def test_groups_of_the_command_line_are_the_problem(tuned):
    run = json.loads(tuned.run("tune", *GROUPED, "--skew", 3, "--type", "f32xq4_0", "--trans-b", "--budget", "0.3s", "--json",
                               code=SHORT).stdout)
    device = run["devices"][0]
    [problem] = [found["problem"] for found in device["problems"]] + device["not_begun"]
    assert problem["groups"] == 5 and problem["experts"] == 6 and problem["type"] == "f32xq4_0"
    assert problem["largest"] == 34, "twice the mean of 16.6: all skews from 2 to 4 are one problem"


def test_wrong_groups_are_refused(rooftile):
    sizes = ["--m", 8, "--n", 9, "--k", 10]
    for arguments, says in ((["--groups", 0, *sizes], "'0' is not a whole number from 1"),
                            (["--groups", 4], "--groups need"),
                            (["--skew", 2, *sizes], "--skew needs --groups"),
                            (["--groups", 4, "--skew", 0.5, *sizes], "less than 1"),
                            (["--groups", 4, "--skew", "1e-310", *sizes], "less than 1"),
                            (["--groups", 4, "--skew", "inf", *sizes], "not a finite number"),
                            (["--groups", 4, "--trans-a", *sizes], "cannot be used together"),
                            (["--groups", 4, "--batch", 2, *sizes], "cannot be used together"),
                            (["--groups", 4, "--experts", 10 ** 7, *sizes], "not a whole number"),
                            (["--groups", 1048576, "--m", 8, "--n", 1 << 40, "--k", 1 << 20], "address space")):
        rooftile.refuses("tune", *arguments, says=says, code=2)
