"""--help of every command, and what happens to those who did not read it."""
import re

import pytest

COMMANDS = ["devices", "calibrate", "tune", "report", "explain", "gemm", "quantize", "run", "emit", "db", "query"]


def test_program_lists_every_command(rooftile):
    text = rooftile.run("--help").stdout
    for command in COMMANDS:
        assert re.search(rf"^\s+{command}\s+\S", text, re.MULTILINE), command
    assert "worker" not in text  # not for people


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_an_example(rooftile, command):
    run = rooftile.run(command, "--help")
    assert run.stderr == ""
    assert re.search(rf"Examples?:\s+rooftile {command}\b", run.stdout)


def test_version_is_the_librarys(rooftile):
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", rooftile.run("--version").stdout)


@pytest.mark.parametrize("arguments, says", [
    ([], "command is missing"),
    (["frobnicate"], "frobnicate"),
    (["tune", "--no-such-option"], "--no-such-option"),
    (["tune", "--budget", "soon"], "'soon'.*60s"),
    (["tune", "--trans-b"], "--m, --n and --k"),
    (["tune", "--batch", "3"], "--m, --n and --k"),
    (["tune", "--quick", "--thorough"], "--thorough"),
    (["tune", "--set", "squares", "--m", "5", "--n", "5", "--k", "5"], "--set"),
    (["tune", "--refresh", "--m", "5", "--n", "5", "--k", "5"], "--refresh"),
    (["tune", "--budget", "-5s"], "-5s"),
    (["tune", "--budget", "nan"], "nan"),
    (["tune", "--m", "64"], "--m, --n and --k go together"),
    (["tune", "--m", "64", "--n", "64", "--k", "99999999999999"], "99999999999999"),
    (["tune", "--set", "nothing"], "nothing.*squares|squares.*nothing"),
    (["tune", "--strategy", "luck"], "luck"),
    (["tune", "--from-log", "--set", "squares"], "--from-log.*--set|--set.*--from-log"),
    (["explain", "--m", "64", "--n", "64"], "--k"),
    (["explain", "--m", "0", "--n", "64", "--k", "64"], "--m"),
    (["explain", "--m", "64", "--n", "64", "--k", "64", "--tier", "moon"], "moon.*host64"),
    (["gemm", "a.npy"], "gemm needs b \\(B, k x n"),
    (["gemm", "a.npy", "b.npy"], "--output"),
    (["gemm", "a.npy", "b.npy", "-o", "c.npy", "--tier", "moon"], "moon.*host64"),
    (["gemm", "a.npy", "b.npy", "-o", "c.npy", "--beta", "1"], "--c FILE"),
    (["gemm", "a.npy", "b.npy", "-o", "c.npy", "--alpha", "two"], "alpha"),
    (["db"], "command is missing after db"),
    (["query"], "sql"),
])
def test_wrong_use_is_exit_code_2(rooftile, arguments, says):
    rooftile.refuses(*arguments, says=says, code=2)
    assert not rooftile.database.exists()


def test_missing_problem_file(rooftile):
    rooftile.refuses("tune", "--shapes", "missing.csv", says="missing.csv: No such file")
    assert not rooftile.database.exists()
