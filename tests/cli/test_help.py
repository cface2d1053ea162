"""Checks --help of every command, and the messages for wrong use."""
import re

import pytest

COMMANDS = ["help", "devices", "calibrate", "tune", "report", "explain", "gemm", "quantize", "run", "emit", "inspect", "db", "query"]


def test_program_lists_every_command(rooftile):
    text = rooftile.run("--help").stdout
    for command in COMMANDS:
        assert re.search(rf"^\s+{command}\s+\S", text, re.MULTILINE), command
    assert "worker" not in text  # worker is an internal command


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_an_example(rooftile, command):
    run = rooftile.run(command, "--help")
    assert run.stderr == ""
    assert re.search(rf"Examples?:\s+rooftile {command}\b", run.stdout)
    assert "`rooftile --help`" in run.stdout, "it explains --db and --device"


EVERY_HELP = [[], *([command] for command in COMMANDS),
              *(["db", command] for command in ("path", "check", "stats", "export-space", "vacuum", "export", "import", "merge", "black-list"))]


@pytest.mark.parametrize("command", EVERY_HELP, ids=" ".join)
def test_help_is_plain_text_of_80_columns(rooftile, command):
    text = rooftile.run(*command, "--help").stdout
    assert [line for line in text.splitlines() if len(line) > 80] == []
    # The messages do not use CLI11's own wording.
    for mark in ("REQUIRED", "Excludes", "Needs", "OPTIONS", "SUBCOMMAND", "Positionals", "INT", "FLOAT", ":{"):
        assert mark not in text, mark
    assert f"Usage: {' '.join(['rooftile', *command])}" in text


def test_help_tells_what_an_option_takes_needs_and_rules_out(rooftile):
    text = " ".join(rooftile.run("gemm", "--help").stdout.split())
    assert "Usage: rooftile gemm <a> <b> -o FILE [option...]" in text
    assert "else auto); one of auto, device, host, host1, host64 " in text
    text = " ".join(rooftile.run("explain", "--help").stdout.split())
    assert "--elements N Number of elements of --operation; only with --operation " in text
    text = " ".join(rooftile.run("report", "--help").stdout.split())
    assert "not with --json, --problem, --compare" in text


@pytest.mark.parametrize("command", [[], ["tune"], ["db", "import"], ["help"], ["run"]])
def test_help_is_a_command_too(rooftile, command):
    assert rooftile.run("--db", "no.db", "help", *command).stdout == rooftile.run(*command, "--help").stdout


def test_help_of_run_shows_where_the_program_is_given(rooftile):
    assert "Usage: rooftile run [option...] -- PROGRAM [ARGUMENT...]\n" in rooftile.run("run", "--help").stdout


def test_version_is_the_librarys(rooftile):
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", rooftile.run("--version").stdout)


@pytest.mark.parametrize("arguments, says", [
    ([], "command is missing"),
    (["tune", "--budgt", "3s"], r"no option '--budgt' \(did you mean '--budget'\?\)"),
    (["emit", "--tile-m=64"], r"no option '--tile-m=64' \(did you mean '--tile_m'\?\)"),
    (["--budget=3s", "tune"], r"'--budget' is an option of tune and has to stand behind that word"),
    (["calibarte"], r"no command 'calibarte' \(did you mean 'calibrate'\?\)"),
    (["db", "chek"], r"did you mean 'check'\?"),
    (["worke"], "no command 'worke'; "),
    (["x"], "no command 'x'; "),
    (["help", "frobnicate"], "no command 'frobnicate'; "),
    (["help", "tune", "--budget=5s"], "help has no option '--budget=5s'"),
    (["help", "tune", "out.db"], "no command 'out.db'; `rooftile tune --help`"),
    (["REPORT"], "did you mean 'report'"),
    (["calib"], "did you mean 'calibrate'"),
    (["import"], "did you mean 'db import'"),
    (["report", "--problem"], "--problem needs a value"),
    (["tune", "--budget", "soon"], "'soon'.*60s"),
    (["tune", "--trans-b"], "--m, --n and --k"),
    (["tune", "--batch", "3"], "--m, --n and --k"),
    (["tune", "--quick", "--thorough"], "--thorough"),
    (["tune", "--set", "squares", "--m", "5", "--n", "5", "--k", "5"], "--set"),
    (["tune", "--refresh", "--m", "5", "--n", "5", "--k", "5"], "--refresh"),
    (["tune", "--budget", "-5s"], "-5s"),
    (["tune", "--budget", "nan"], "nan"),
    (["calibrate", "--budget", "soon"], "'soon'.*60s"),
    (["calibrate", "--budget", ""], "--budget: the time is empty"),
    (["tune", "--budget", ""], "--budget: the time is empty"),
    (["tune", "--budget", "5m", "--quick"], "--budget.*cannot be used together|--quick.*cannot be used together"),
    (["tune", "--m", "64", "--n", "64", "--k", "99999999999999"], "99999999999999"),
    (["explain", "--m", "64", "--n", "64"], "--k"),
    (["gemm", "a.npy"], "gemm needs <b> \\(B, k x n"),
    (["gemm", "a.npy", "b.npy", "-o", "c.npy", "--beta", "1"], "--c FILE"),
    (["db"], "command is missing after db"),
])
def test_wrong_use_is_exit_code_2(rooftile, arguments, says):
    """Messages and cases beside those of test_exit_codes.py."""
    rooftile.refuses(*arguments, says=says, code=2)
    assert not rooftile.database.exists()


def test_missing_problem_file(rooftile):
    rooftile.refuses("tune", "--shapes", "missing.csv", says="missing.csv: No such file")
    assert not rooftile.database.exists()
