"""The same mistake has the same exit code in every command: 2 where the command line or the environment is wrong on any
machine, 1 where a file, a device or the database is not what the command needs."""
import os
import re
import subprocess

import numpy as np
import pytest

from conftest import SOURCE

SIZES = ["--m", 64, "--n", 64, "--k", 64]
GEMM = ["gemm", "a.npy", "b.npy", "-o", "c.npy"]
NAIVE = ["emit", "--limits", "minimum", "--variant", "family=naive tile_m=4 tile_n=8"]
CSV_HEADER = "m,n,k,trans_a,trans_b,batch,note\n"

# cause: (exit code, what stderr says, command lines)
TABLE = {
    "unknown device": (1, "nosuch", [
        ["devices"], ["calibrate"], ["tune", "--quick", *SIZES], ["report"], ["report", "--html", "out"], ["explain", *SIZES],
        ["inspect"], ["explain", "--table"], GEMM, ["db", "export", "out"], ["db", "black-list"], ["db", "black-list", "--clear"],
        ["db", "export-space", "out", *SIZES]]),
    "missing database": (1, "missing.db.*rooftile tune", [
        ["report"], ["report", "--problem", "64,64,64"], ["query", "SELECT 1"], ["db", "check"], ["db", "stats"], ["db", "vacuum"],
        ["db", "export", "out"], ["db", "black-list"], ["db", "black-list", "--clear"], ["db", "export-space", "out", *SIZES],
        ["inspect", "--hash", "0"]]),
    "database that is none": (1, "text.db", [
        ["devices"], ["report"], ["explain", *SIZES], GEMM, ["query", "SELECT 1"], ["db", "check"], ["db", "stats"],
        ["db", "export", "out"], ["db", "black-list"], ["db", "black-list", "--clear"], ["db", "vacuum"], ["calibrate"],
        ["tune", "--quick", *SIZES], ["tune", "--refresh"], ["db", "import", "rooftile.db"], ["db", "merge", "text.db", "rooftile.db"]]),
    "database path that cannot be reached": (1, "loop: Too many levels", [
        ["devices"], ["report"], ["explain", *SIZES], GEMM, ["query", "SELECT 1"], ["db", "check"], ["db", "vacuum"],
        ["calibrate"], ["tune", "--quick", *SIZES], ["db", "import", "rooftile.db"]]),
    "folder in place of a file": (1, "folder( is|: it is) a folder", [
        ["--db", "folder", "report"], ["--db", "folder", "devices"], ["--db", "folder", "explain", *SIZES],
        ["--db", "folder", "tune", "--quick", *SIZES], ["gemm", "folder", "b.npy", "-o", "c.npy"],
        ["gemm", "a.npy", "folder", "-o", "c.npy"], ["gemm", "a.npy", "b.npy", "-o", "folder"], [*GEMM, "--c", "folder", "--beta", 1],
        ["quantize", "folder", "-o", "q"], ["quantize", "a.npy", "-o", "folder"], ["quantize", "a.npy", "-o", "folder", "--format", "q8_0"],
        ["inspect", "-o", "folder"], ["inspect", "--page", "folder"], ["tune", "--shapes", "folder"], ["inspect", "folder", "--page", "x.html"], ["report", "--html", "folder"],
        ["report", "--compare", "folder"], ["db", "import", "folder"], ["db", "merge", "folder", "rooftile.db"],
        ["db", "merge", "out.db", "folder"], ["db", "export", "folder"], ["db", "export", "--force", "folder"],
        ["db", "export-space", "folder", *SIZES], [*NAIVE, "--spirv", "folder"]]),
    "missing file": (1, "nothere", [
        ["gemm", "nothere.npy", "b.npy", "-o", "c.npy"], ["gemm", *GEMM[1:], "--c", "nothere.npy", "--beta", 1],
        ["quantize", "nothere.npy", "-o", "q"], ["tune", "--shapes", "nothere.csv"], ["report", "--compare", "nothere.db"],
        ["inspect", "nothere.json", "--page", "x.html"],
        ["db", "import", "nothere.db"], ["db", "merge", "out.db", "nothere.db"]]),
    "file with wrong contents": (1, "text", [
        ["inspect", "text.csv", "--page", "x.html"], ["gemm", "text.npy", "b.npy", "-o", "c.npy"], ["quantize", "text.npy", "-o", "q"], ["tune", "--shapes", "text.csv"],
        ["tune", "--shapes", "text.npy"], ["report", "--compare", "text.db"], ["db", "import", "text.db"],
        ["db", "merge", "out.db", "text.db"], ["quantize", "text_nan.npy", "-o", "q"]]),
    "file without an end": (1, "/dev/zero is longer than 64 MiB", [
        ["tune", "--shapes", "/dev/zero"], ["inspect", "/dev/zero", "--page", "x.html"]]),
    "unwritable output": (1, "nofolder", [
        ["gemm", "a.npy", "b.npy", "-o", "nofolder/c.npy"], ["quantize", "a.npy", "-o", "nofolder/q"],
        ["report", "--html", "nofolder/x.html"], ["inspect", "-o", "nofolder/x.json"], ["db", "export", "nofolder/x.db"], ["--db", "nofolder/x.db", "calibrate"],
        ["--db", "nofolder/x.db", "tune", "--quick", *SIZES], ["--db", "nofolder/x.db", "db", "import", "rooftile.db"],
        ["db", "merge", "nofolder/x.db", "rooftile.db"], [*NAIVE, "--spirv", "nofolder/x.spv"]]),
    "SQL that cannot be run": (1, "cannot be run", [["query", "SELEC 1"], ["query", "SELECT * FROM nosuch"]]),
    "export to a file that exists": (1, "exists; --force", [["db", "export", "text.db"], ["db", "export", "--format", "csv", "text.csv"]]),
    "problem that is not tuned": (1, "is not tuned", [["report", "--problem", "7,7,7"]]),
    "bad size": (2, "'(0|two|-1|1.5|1e60)'", [
        ["inspect", "--limit", 0], ["inspect", "--m", "two"],
        ["tune", "--m", 0, "--n", 64, "--k", 64], ["explain", "--m", "two", "--n", 64, "--k", 64], ["report", "--problem", "64,0,64"],
        ["report", "--problem", "64,two,64"], ["db", "export-space", "out", "--m", -1, "--n", 64, "--k", 64],
        ["explain", *SIZES, "--batch", 0], ["explain", "--operation", "relu", "--elements", 0], ["tune", "--seed", "-1"],
        ["tune", "--candidates", "1.5"], ["tune", "--candidates", 0], [*GEMM, "--alpha", "1e60"], [*GEMM, "--alpha", "two"], [*GEMM, "--beta", "two"], ["quantize", "a.npy", "-o", "q", "--bits", "two"],
        ["quantize", "a.npy", "-o", "q", "--block", 0]]),
    "bad type": (2, "f99", [
        ["inspect", "--type", "f99"],
        ["tune", "--type", "f99"], ["explain", *SIZES, "--type", "f99"], ["report", "--problem", "64,64,64", "--type", "f99"],
        [*NAIVE, "--type", "f99"], [*GEMM, "--type-c", "f99"], ["quantize", "a.npy", "-o", "q", "--type", "f99"],
        ["db", "export-space", "out", *SIZES, "--type", "f99"]]),
    "bad epilogue": (2, "magic", [
        ["tune", "--epilogue", "magic"], ["explain", *SIZES, "--epilogue", "magic"], [*NAIVE, "--epilogue", "magic"],
        ["report", "--problem", "64,64,64", "--epilogue", "magic"]]),
    "bad choice": (2, "'moon'.*known: ", [
        [*GEMM, "--tier", "moon"], ["explain", *SIZES, "--tier", "moon"], ["run", "--tier", "moon", "--", "true"],
        ["tune", "--strategy", "moon"], ["tune", "--set", "moon"], ["quantize", "a.npy", "-o", "q", "--zero-points", "moon"],
        ["emit", "--limits", "moon"], [*NAIVE, "--pack", "moon"], ["explain", "--operation", "moon", "--elements", 5]]),
    "contradictory options": (2, "together", [
        ["tune", "--from-log", "--set", "squares"], ["inspect", "--ranked", "--priors"],
        ["inspect", "text.csv", "--page", "x.html", "--json"], ["report", "--html", "x.html", "--json"],
        ["report", "--problem", "64,64,64", "--compare", "o.db"], ["report", "--calibration", "--json"],
        ["explain", "--table", *SIZES], ["explain", "--operation", "relu", "--elements", 9, *SIZES]]),
    "option without its partner": (2, "needs|go together", [
        ["report", "--type", "f16"], ["web"], ["web", "--port", "8017"], ["inspect", "--ranked"], ["inspect", "text.csv"], ["explain", "--operation", "relu"], ["tune", "--m", 64], [*GEMM, "--beta", 1],
        [*GEMM, "--zero-points", "z.npy"], [*GEMM, "--c", "b.npy"], ["gemm", "a.npy", "b.npy"], ["gemm", "a.npy"], ["quantize", "a.npy"], ["query"], ["db", "export"],
        ["db", "import"], ["db", "merge", "out.db"]]),
    "unknown option": (2, "has no option '--bogus'.*--help", [
        [command, "--bogus"] for command in ("devices", "calibrate", "run", "tune", "report", "explain", "gemm", "quantize", "emit", "inspect", "query", "web")
    ] + [["db", "export", "--bogus"], ["db", "check", "--bogus"]]),
    "unknown command": (2, "no command", [["frobnicate"], ["db", "frobnicate"]]),
    "no command": (2, "command is missing.*--help", [[], ["db"]]),
    "empty file name": (2, "name of a file is empty", [
        ["--db", "", "report"], ["report", "--html", ""], ["inspect", "--page", ""], ["inspect", "--assembly", ""], ["report", "--compare", ""], ["tune", "--shapes", ""],
        ["gemm", "", "b.npy", "-o", "c.npy"], ["gemm", "a.npy", "b.npy", "-o", ""], ["quantize", "", "-o", "q"],
        ["quantize", "a.npy", "-o", ""], ["db", "export", ""], ["db", "merge", "", "rooftile.db"], [*NAIVE, "--spirv", ""]]),
    "empty SQL statement": (2, "statement is empty.*best_kernels.*--help|the query is empty", [
        ["query", ""], ["query", " \n"], ["query", "-- x"]]),
    "value that is missing": (2, "--m.*--help", [["tune", "--m"], ["explain", "--m"]]),
}
# Other tests, below and in other files, cover these causes.
OTHER_CAUSES = {"done", "unknown value of an environment variable, or a BLAS in `ROOFTILE_BLAS` that cannot be loaded", "standard output that cannot be written", "Ctrl-C, SIGTERM, or a terminal that closes",
                "`tune` that could tune no problem though there was time", "program of `rooftile run` that cannot be started",
                "program of `rooftile run` that is not found"}
CASES = [pytest.param(cause, command, id=f"{cause}: {' '.join(map(str, command))}") for cause, (_, _, commands) in TABLE.items()
         for command in commands]
OPTIONS = {"unknown device": ["--device", "nosuch"], "missing database": ["--db", "missing.db"],
           "database that is none": ["--db", "text.db"], "database path that cannot be reached": ["--db", "loop"]}


@pytest.fixture(scope="session")
def tuned_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("tuned") / "rooftile.db"
    subprocess.run([os.environ["ROOFTILE_WRITE_DATABASE"], path, "fast"], check=True)
    return path


@pytest.fixture
def prepared(rooftile, tuned_file):
    rooftile.database.write_bytes(tuned_file.read_bytes())
    rooftile.save(a=np.eye(32, dtype=np.float32), b=np.eye(32, dtype=np.float32), text_nan=np.full((32, 4), np.nan, np.float32))
    for name in ("text.db", "text.npy"):
        (rooftile.folder / name).write_text("my shopping list\n")
    (rooftile.folder / "folder").mkdir()
    (rooftile.folder / "loop").symlink_to("loop")
    (rooftile.folder / "text.csv").write_text(CSV_HEADER + "64,64,none,0,0,1,x\n")
    return rooftile


@pytest.mark.parametrize("cause, command", CASES)
def test_one_cause_has_one_exit_code(prepared, cause, command):
    code, says, _ = TABLE[cause]
    before = sorted(path.name for path in prepared.folder.iterdir())
    run = prepared.run(*OPTIONS.get(cause, []), *command, code=code)
    assert run.stderr.startswith("rooftile: "), run.stderr
    assert len(re.findall(says, run.stderr)) == 1, f"{run.stderr!r} does not say {says!r} once"
    # CLI11's own wording must not appear.
    for raw in ("required", "excludes", "not expected", "Could not convert", "not in range", "Run with --help"):
        assert raw not in run.stderr, run.stderr
    made = {path.name for path in prepared.folder.iterdir()} - set(before)
    assert not made & {"c.npy", "out", "x.html", "missing.db", "nofolder"}, made


@pytest.mark.parametrize("command", [["--help"], ["--version"], ["devices"], ["report"], ["explain", *SIZES], GEMM, ["query", "SELECT 1"],
                                     ["emit", "--list-space", "--limits", "minimum"], [*NAIVE, "--spirv", "-"], ["db", "path"],
                                     ["tune", "--help"]],
                         ids=lambda command: " ".join(map(str, command[:2])))
@pytest.mark.parametrize("output", ["full", "closed"])
def test_output_that_is_lost_is_a_failure(prepared, command, output):
    script = {"full": 'exec "$@" > /dev/full', "closed": 'exec "$@" >&-'}[output]
    prepared.refuses(*command, says="cannot write to standard output: (No space left|Bad file)", prefix=["bash", "-c", script, "bash"])


def test_the_documentation_lists_each_cause_with_its_exit_code():
    rows = re.findall(r"^\| (.+?) \| (\d+) \|", (SOURCE / "docs" / "environment.md").read_text(), re.MULTILINE)
    assert {cause: int(code) for cause, code in rows if cause in TABLE} == {cause: code for cause, (code, _, _) in TABLE.items()}
    assert {cause for cause, _ in rows} - set(TABLE) == OTHER_CAUSES


VARIABLES = {"ROOFTILE_TIER": "auto, device, host", "ROOFTILE_PRECISION": "relaxed, standard, high, exact64, half",
             "ROOFTILE_DETERMINISTIC": "0, off, 1, on", "ROOFTILE_MEASURE_CALLS": "0, off, 1, on",
             "ROOFTILE_LOG_UNTUNED": "0, off, 1, on", "ROOFTILE_VALIDATION": "0, off, 1, on"}
# The sanitizer's runtime must be the first library of a process, which other programs are not built for.
OTHER_PROGRAM = [] if os.environ.get("ROOFTILE_SANITIZE") else [["run", "--", "true"]]
ANY_COMMAND = [["devices"], ["calibrate"], ["tune", "--quick", *SIZES], ["report"], ["explain", *SIZES], GEMM,
               ["quantize", "a.npy", "-o", "q"], *OTHER_PROGRAM, NAIVE, ["query", "SELECT 1"], ["db", "stats"]]


@pytest.mark.parametrize("variable", VARIABLES)
def test_unknown_values_of_variables_are_refused_by_every_command(prepared, variable):
    for command in ANY_COMMAND:
        prepared.refuses(*command, code=2, says=f"^rooftile: {variable} is 'moon'; known: {VARIABLES[variable]}",
                         **{variable: "moon"})
    assert prepared.run(*NAIVE, **{variable: ""}).stderr == ""


@pytest.mark.parametrize("command", ANY_COMMAND[3:], ids=lambda command: command[0])
def test_unknown_log_level_is_reported_once_and_ignored(prepared, command):
    said = prepared.run(*command, ROOFTILE_LOG="verbose").stderr
    assert said.count("ROOFTILE_LOG") == 1 and "known: off, warnings, decisions" in said
    for level in ("off", "warnings", "decisions", ""):
        assert "known" not in prepared.run(*command, ROOFTILE_LOG=level).stderr


def test_a_device_variable_that_matches_nothing(prepared):
    for command in (["report"], ["devices"], ["db", "black-list"]):
        prepared.refuses(*command, says="nosuch", ROOFTILE_DEVICE="nosuch")
    # Calls fall back to the host, as in any program.
    for command in (GEMM, ["explain", *SIZES]):
        said = prepared.run(*command, ROOFTILE_DEVICE="nosuch").stderr
        assert said.count("\n") == 1 and re.search("no tuned device in .*rooftile.db matches 'nosuch'.*on the host", said), said
        assert prepared.run(*command, ROOFTILE_DEVICE="nosuch", ROOFTILE_LOG="off").stderr == ""


def test_a_database_variable_that_names_nothing(prepared):
    for command in (GEMM, ["explain", *SIZES]):
        said = prepared.run(*command, ROOFTILE_DB="missing.db").stderr
        assert said.count("\n") == 1 and re.search("no tuning database at missing.db.*on the host", said), said
    prepared.environment.pop("ROOFTILE_DB")
    assert prepared.run(*GEMM).stderr == "", "nothing was named, so nothing is missing"


def test_case_of_a_device_name_does_not_matter(prepared):
    name = prepared.run("query", "SELECT name FROM devices").stdout.splitlines()[1].split()[0]
    for text in (name.upper(), name.lower()):
        assert name in prepared.run("report", "--device", text).stdout
        assert name in prepared.run("devices", ROOFTILE_DEVICE=text).stdout
