"""Tunes grouped problems on the real device, and shows, explains, exports and logs them."""
import json
import re

from tuned_device import SHORT, count

GROUPED = ["--groups", 5, "--experts", 6, "--m", 83, "--n", 45, "--k", 37]
NAME = "83x45x37 nn in 5 groups of 6 experts"


def test_a_grouped_problem_is_tuned_used_shown_and_shared(tuned, tmp_path):
    # On a busy machine one short run may certify no kernel; the next one continues.
    for _ in range(4):
        run = json.loads(tuned.run("tune", *GROUPED, "--budget", "4s", "--json", code=SHORT).stdout)
        [problem] = run["devices"][0]["problems"]
        if problem["winner"]:
            break
    assert problem["problem"] == {"m": 83, "n": 45, "k": 37, "type": "f32", "trans_a": False, "trans_b": False,
                                  "groups": 5, "experts": 6, "largest": 0}
    kernel = problem["winner"]
    assert kernel and problem["kernel_ns"] > 0

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
    row = tuned.run("query", "--json", "SELECT bucket, experts, groups, largest FROM best_kernels WHERE groups > 0").stdout
    assert "f32.nn.m6.n5.k5.b0.g2.s0" in row

    other = tmp_path / "other.db"
    tuned.run("db", "export", tmp_path / "exported.db")
    tuned.run("db", "import", tmp_path / "exported.db", ROOFTILE_DB=str(other))
    shared = tuned.run("query", "SELECT kernel, groups FROM imported_kernels WHERE experts = 6", ROOFTILE_DB=str(other)).stdout
    assert shared.rstrip().endswith("5"), shared
    csv = tuned.run("db", "export", "-", "--format", "csv", "--m", 83, "--n", 45, "--k", 37, code=(0, 1)).stdout
    assert "83" not in csv.split("\n", 1)[-1], "the single product of these sizes was not tuned"


def test_a_logged_grouped_problem_is_tuned_from_the_log(tuned):
    tuned.run("tune", *GROUPED, "--budget", "0.5s", code=SHORT)  # Makes its row.
    import sqlite3

    with sqlite3.connect(tuned.database) as database:
        columns = ("type, trans_a, trans_b, m, n, k, batch, lda, ldb, ldc, stride_a, stride_b, stride_c, epilogue, alpha, beta, "
                   "experts, groups, largest, bucket")
        database.execute("DELETE FROM untuned_problems")
        database.execute(f"INSERT INTO untuned_problems (device_id, calls, {columns}) SELECT 1, 7, {columns} FROM problems "
                         "WHERE experts = 6")
    database.close()
    before = count(tuned, "SELECT count(*) FROM samples")
    text = tuned.run("tune", "--from-log", "--budget", "3s", code=SHORT).stdout
    assert re.search(rf"^{re.escape(NAME)} ", text, re.MULTILINE) and "1 problems" in text, text
    assert count(tuned, "SELECT count(*) FROM samples") > before


def test_wrong_groups_are_refused(rooftile):
    sizes = ["--m", 8, "--n", 9, "--k", 10]
    for arguments, says in ((["--groups", 0, *sizes], "'0' is not a whole number from 1"),
                            (["--groups", 4], "--groups need"),
                            (["--skew", 2, *sizes], "--skew needs --groups"),
                            (["--groups", 4, "--skew", 0.5, *sizes], "less than 1"),
                            (["--groups", 4, "--skew", "inf", *sizes], "not a finite number"),
                            (["--groups", 4, "--trans-a", *sizes], "cannot be used together"),
                            (["--groups", 4, "--batch", 2, *sizes], "cannot be used together"),
                            (["--groups", 4, "--experts", 10 ** 7, *sizes], "not a whole number"),
                            (["--groups", 1048576, "--m", 8, "--n", 1 << 40, "--k", 1 << 20], "address space")):
        rooftile.refuses("tune", *arguments, says=says, code=2)
