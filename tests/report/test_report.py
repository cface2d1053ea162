"""All forms of `rooftile report`: they match their schema, and invalid arguments and databases give errors."""
import contextlib
import json
import re
import sqlite3

import jsonschema
import pytest
import schemas

from conftest import NASTY, cli

SCHEMA = schemas.load("report")


def validate(text, form):
    return schemas.validate(SCHEMA, text, form)


def page_data(path):
    return re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text(), re.DOTALL)[1]


def test_every_field_is_explained():
    assert list(schemas.unexplained(SCHEMA)) == []


def test_json_is_as_documented(rooftile):
    rooftile.simulate("--name", NASTY)
    rooftile.simulate("--uuid", "other", "--problems", 0, "--calibrations", 0)
    report = validate(rooftile.run("report", "--json").stdout, "report")
    tuned, bare = report["devices"]
    assert tuned["name"] == NASTY and len(tuned["problems"]) == 6
    for problem in tuned["problems"]:
        assert "tile_m" in problem["parameters"]
        assert problem["over_bound"] >= 1 and problem["levels"]
        assert problem["gflops"] == pytest.approx(2 * problem["m"] * problem["n"] * problem["k"] / problem["kernel_ns"])
        assert problem["largest_bound"] == problem["bounds"][0]["limiter"]
        assert problem["bounds"][0]["ns"] == max(b["ns"] for b in problem["bounds"])
        costs = problem["costs"]
        assert problem["limiter"] == costs[0]["limiter"] and problem["limiter_ns"] == max(c["ns"] for c in costs)
        assert problem["limiter_share"] == pytest.approx(costs[0]["ns"] / sum(c["ns"] for c in costs), rel=1e-5)
        alike = costs[1]["ns"] * 1.5 > costs[0]["ns"]
        assert problem["or_limiter"] == (costs[1]["limiter"] if alike else "")
    assert {f["name"] for f in tuned["calibration"]} >= {"device.fma.f32", "device.submit", "host.gemm.threads.64x64x64"}
    assert bare["problems"] == [] and bare["calibrated_at"] == ""


def test_a_grouped_problem_is_as_documented(rooftile):
    rooftile.simulate("--problems", 1)
    cli.change(rooftile.database, "UPDATE problems SET groups = 4, experts = 5, largest = 30")
    [problem] = validate(rooftile.run("report", "--json").stdout, "report")["devices"][0]["problems"]
    assert (problem["groups"], problem["experts"], problem["largest"]) == (4, 5, 30)
    rooftile.run("report", "--html", "report.html")
    validate(page_data(rooftile.folder / "report.html"), "page")


def test_problems_that_were_only_measured_elsewhere_are_as_documented(rooftile):
    other = rooftile.folder / "other.db"
    rooftile.simulate("--problems", 0)
    rooftile.simulate("--problems", 2, database=other)
    there = json.loads(rooftile.run("--db", other, "report", "--json").stdout)["devices"][0]["problems"]
    rooftile.run("db", "import", other)
    [device] = validate(rooftile.run("report", "--json").stdout, "report")["devices"]
    assert device["problems"] == []
    assert [x["problem"].split()[0] for x in device["elsewhere"]] == [f"{x['m']}x{x['n']}x{x['k']}" for x in there]
    with contextlib.closing(sqlite3.connect(other)) as database:
        measured = database.execute("SELECT min(kernel_ns + pack_ns), count(DISTINCT candidate_id) FROM samples "
                                    "WHERE status = 'measured' GROUP BY problem_id ORDER BY problem_id").fetchall()
    assert [(x["kernel_ns"] + x["pack_ns"], x["tried"]) for x in device["elsewhere"]] == measured
    assert device["elsewhere"][0]["kernel"] in rooftile.run("report").stdout


def shortened(value):
    """Returns the same document with only the first entry of each list, because all entries have the same form."""
    if isinstance(value, dict):
        return {key: shortened(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return value if value and all(isinstance(x, (int, float)) for x in value[:3]) and len(value) == 3 else \
            [shortened(entry) for entry in value[:1]]
    return value


@pytest.mark.parametrize("form", ["report", "problem_report", "comparison", "page"])
def test_schema_as_a_whole_refuses_every_corrupted_document(rooftile, form):
    rooftile.simulate("--problems", 2, "--counters", 1, "--calibrations", 2)
    rooftile.simulate("--problems", 2, "--speed", 3, database=rooftile.folder / "other.db")
    if form == "page":
        rooftile.run("report", "--html", "report.html")
        text = page_data(rooftile.folder / "report.html")
    else:
        arguments = {"report": [], "problem_report": ["--problem", "65,129,47"], "comparison": ["--compare", "other.db"]}
        text = rooftile.run("report", "--json", *arguments[form]).stdout
    left_out = {"parameters", "description", "scope"}  # by the page
    assert schemas.accepted_errors(SCHEMA, shortened(json.loads(text)), left_out, {"parameters"}, form) == []
    for value in ({}, [], None, "text", {"database": "x"}):
        assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(value)


def test_page_data_is_as_documented(rooftile):
    rooftile.simulate()
    assert "1 device of" in rooftile.run("report", "--html", "report.html").stdout
    data = validate(page_data(rooftile.folder / "report.html"), "page")
    [device] = data["devices"]
    assert device["samples"] == 240 and len(device["searches"]) == 6 and len(device["classes"]) == 2
    assert "host.gemm" not in json.dumps(device["calibration"])


def test_problem_is_explained(rooftile):
    rooftile.simulate()
    text = rooftile.run("report", "--problem", "65,129,47").stdout
    assert re.search(r"^65x129x47 nn on Simulated GPU", text) and "limiter: " in text
    explained = validate(rooftile.run("report", "--problem", "65,129,47", "--json").stdout, "problem_report")
    assert explained["devices"][0]["problem"]["k"] == 47
    assert "139x235x169 nt" in rooftile.run("report", "--problem", "139x235x169", "--trans-b").stdout


def test_counters_are_shown_where_there_are_any(rooftile):
    rooftile.simulate("--problems", 2)
    for form in (["report"], ["report", "--problem", "65,129,47"]):
        assert "counted" not in rooftile.run(*form).stdout
    plain = validate(rooftile.run("report", "--json").stdout, "report")["devices"][0]["problems"]
    assert all(p["counted"] is None and {level["source"] for level in p["levels"]} == {"modelled"} for p in plain)

    rooftile.simulate("--problems", 2, "--uuid", "counting", "--counters", 25)
    report = validate(rooftile.run("report", "--json").stdout, "report")
    for before, problem in zip(plain, report["devices"][1]["problems"]):
        counted = problem["counted"]
        assert counted["passes"] == 3 and len(counted["counters"]) == 25 and counted["counters_left_out"] == 0
        assert counted["counters"][2] == {"name": "<b>Counter</b> 2", "category": "Memory", "description": "what it counts",
                                          "unit": "percent", "scope": "command", "value": 12.5}
        memory, modelled = problem["levels"][0], before["levels"][0]
        assert memory["source"] == "counted" and memory["modelled_bytes"] == modelled["bytes"]
        assert memory["bytes"] == counted["counters"][0]["value"] + counted["counters"][1]["value"]
        assert memory["bound_ns"] == pytest.approx(memory["bytes"] / memory["gbps"])
        assert {"limiter": "memory:memory", "ns": memory["bound_ns"]} in problem["bounds"]
        assert {"limiter": "memory:memory", "ns": memory["bound_ns"]} in problem["costs"]
        assert problem["bounds"][0]["ns"] == max(b["ns"] for b in problem["bounds"])
        assert problem["limiter_ns"] == problem["costs"][0]["ns"] == max(c["ns"] for c in problem["costs"])
    text = rooftile.run("report", "--problem", "65,129,47", "--device", "Simulated").stdout
    assert re.search(r"^  memory .* counted; the model says \d+$", text, re.MULTILINE)
    assert re.search(r"^  <b>Counter</b> 24 +12.5 +percent +Memory$", text, re.MULTILINE)
    assert text.count("counted by the driver in 3 passes") == 1

    rooftile.run("report", "--html", "report.html")
    page = validate(page_data(rooftile.folder / "report.html"), "page")
    shown = page["devices"][1]["problems"][0]["counted"]
    assert len(shown["counters"]) == 20 and shown["counters_left_out"] == 5 and "scope" not in shown["counters"][0]


def test_results_come_first_and_figures_on_demand(rooftile):
    rooftile.simulate("--problems", 2, "--calibrations", 2)
    text = rooftile.run("report").stdout
    assert "device.fma.f32" not in text
    results, calibrated = text.index("65x129x47 nn"), text.index("calibrated ")
    assert results < calibrated and re.search(r"\d+ of \d+ measurements drifted since .*`rooftile report --calibration`", text)
    detailed = rooftile.run("report", "--calibration").stdout
    assert detailed.index("65x129x47 nn") < detailed.index("device.fma.f32")
    rooftile.simulate("--problems", 1, database=rooftile.folder / "other.db")
    compared = rooftile.run("report", "--compare", "other.db").stdout
    assert compared.index("65x129x47 nn") < compared.index("device.fma.f32")


def column(line, text):
    """Column of the text on a terminal that shows every character of the line in one column."""
    return line.index(text)


def test_tables_stay_aligned_with_long_names(rooftile):
    names = ["Gerät der Größe XL mit einem sehr langen Namen, ° und ß, wie ihn Treiber angeben", "short"]
    for i, name in enumerate(names):
        rooftile.simulate("--name", name, "--uuid", f"uuid{i}", "--problems", 1)
    header, *rows = rooftile.run("db", "stats").stdout.split("\n\n")[1].splitlines()
    assert [row.split("  ")[0] for row in rows] == names
    assert {column(row, "driver 1") for row in rows} == {column(header, "driver")}
    header, *rows = rooftile.run("query", "SELECT name, device_uuid FROM devices").stdout.splitlines()
    assert {column(row, "uuid") for row in rows} == {column(header, "device_uuid")}

    header, *rows = rooftile.run("report", "--problem", "65,129,47", "--device", "short").stdout.split("rank")[1].splitlines()
    ends = {re.search(r"\d\.\d\d(?=  [a-z])", row).end() for row in rows if row.strip()}
    assert len(ends) == 1, rows


def test_databases_are_compared(rooftile):
    rooftile.simulate("--problems", 2)
    rooftile.simulate("--problems", 3, "--speed", 3, "--driver", 2, database=rooftile.folder / "other.db")
    text = rooftile.run("report", "--compare", "other.db").stdout
    assert "driver 1" in text and "driver 2" in text and "only there: 139x235x169 nt" in text
    compared = validate(rooftile.run("report", "--compare", "other.db", "--json").stdout, "comparison")
    [pair] = compared["devices"]
    assert len(pair["problems"]) == 2 and pair["host_points"] == 12


@pytest.mark.parametrize("arguments, code, says", [
    (["--problem", "65,129"], 2, "--problem"),
    (["--problem", "65x129x47x1"], 2, "--problem.*it takes MxNxK"),
    (["--problem", "65xx129"], 2, "--problem.*it takes MxNxK"),
    (["--problem", "65,129,0"], 2, "--problem"),
    (["--problem", "65,129,many"], 2, "--problem"),
    (["--problem", "1,2,3"], 1, "1x2x3 nn is not tuned.*65x129x47 nn.*rooftile tune --m 1"),
    (["--problem", "65,129,47", "--type", "f99"], 2, "written as f32"),
    (["--type", "f16"], 2, "--problem"),
    (["--html", "x.html", "--json"], 2, "--json"),
    (["--html", "x.html", "--compare", "other.db"], 2, "--compare"),
    (["--problem", "65,129,47", "--compare", "other.db"], 2, "--compare"),
    (["--device", "nobody's"], 1, "knows no device that matches 'nobody's'.*db stats"),
    (["--compare", "missing.db"], 1, "missing.db.*rooftile tune"),
    (["--compare", "text.db"], 1, "text.db"),
    (["--compare", "rooftile.db"], 1, "nothing to compare"),
    (["--html", "/nowhere/report.html"], 1, "/nowhere/report.html: No such file"),
    (["--html", "."], 1, "folder"),
])
def test_wrong_use_is_reported(rooftile, arguments, code, says):
    rooftile.simulate("--problems", 1)
    (rooftile.folder / "text.db").write_text("my shopping list\n")
    rooftile.refuses("report", *arguments, code=code, says=says)
    assert (rooftile.folder / "text.db").read_text() == "my shopping list\n"
    assert not (rooftile.folder / "x.html").exists()


def test_full_disk_leaves_no_half_page(rooftile):
    rooftile.simulate("--problems", 1)
    rooftile.refuses("report", "--html", "/dev/full", says="/dev/full: No space left")


def test_database_without_a_device(rooftile):
    rooftile.simulate("--empty")
    assert "no device yet" in rooftile.run("report").stdout
    assert validate(rooftile.run("report", "--json").stdout, "report")["devices"] == []
    rooftile.run("report", "--html", "report.html")
    assert validate(page_data(rooftile.folder / "report.html"), "page")["devices"] == []
    rooftile.refuses("report", "--problem", "1,2,3", says="nothing is tuned")
    rooftile.simulate("--problems", 1, database=rooftile.folder / "other.db")
    rooftile.refuses("report", "--compare", "other.db", says="nothing to compare.*has 0 devices.*has 1")


@pytest.mark.parametrize("options, says", [(["--problems", 0], "no certified kernel yet"),
                                           (["--calibrations", 0], "not calibrated"),
                                           (["--problems", 0, "--calibrations", 0], "not calibrated")])
def test_device_of_which_little_is_known(rooftile, options, says):
    rooftile.simulate(*options)
    assert says in rooftile.run("report").stdout
    validate(rooftile.run("report", "--json").stdout, "report")
    rooftile.run("report", "--html", "report.html")
    validate(page_data(rooftile.folder / "report.html"), "page")
    rooftile.simulate("--driver", 2)
    validate(rooftile.run("report", "--compare", rooftile.database, "--json").stdout, "comparison")


@pytest.mark.parametrize("change, says", [
    ("UPDATE candidates SET variant = 'family=quantum'", "family=quantum.*does not know"),
    ("UPDATE certificates SET generator_version = '0'", "version 0"),
    ("DELETE FROM certificates", "not certified"),
    ("DELETE FROM candidates", "unknown kernel"),
])
def test_kernels_that_no_longer_exist(rooftile, change, says):
    rooftile.simulate("--problems", 2)
    cli.change(rooftile.database, change)
    text = rooftile.run("report").stdout
    assert re.search(says, text) and "rooftile tune --refresh" in text, text
    report = validate(rooftile.run("report", "--json").stdout, "report")
    assert report["devices"][0]["stale"] and report["devices"][0]["problems"] == []
    rooftile.run("report", "--html", "report.html")
    assert validate(page_data(rooftile.folder / "report.html"), "page")["devices"][0]["samples"] == 80

