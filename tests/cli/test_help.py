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
    (["emit", "--limits", "minimum", "--family", "magic"], "magic.*naive"),
    (["emit", "--limits", "minimum", "--tile_m", "many"], "tile_m.*many"),
    (["emit", "--limits", "minimum", "--variant", "tile_q=3"], "tile_q"),
    (["emit", "--limits", "maximum"], "maximum"),
    (["db"], "command is missing after db"),
    (["query"], "sql"),
])
def test_wrong_use_is_exit_code_2(rooftile, arguments, says):
    rooftile.refuses(*arguments, says=says, code=2)
    assert not rooftile.database.exists()


def test_missing_problem_file(rooftile):
    rooftile.refuses("tune", "--shapes", "missing.csv", says="missing.csv: No such file")
    assert not rooftile.database.exists()


def test_emit_names_the_rule_that_forbids(rooftile):
    rooftile.refuses("emit", "--limits", "minimum", "--family", "tiled", "--tile_m", 256, "--tile_n", 256, "--tile_k",
                     64, "--reg_m", 8, "--reg_n", 8, "--stage", "shared", says="illegal here: .*[0-9]")


@pytest.mark.parametrize("options, says", [
    (["--dot", "4"], "no packed dot products"),
    (["--type", "f32xq4b32"], "stored n x k"),
    (["--type", "f16_sum_f16"], "16-bit arithmetic"),
    (["--split_k", "2", "--reduction", "atomic"], "adds float32"),
])
def test_emit_names_the_rule_that_forbids_types(rooftile, options, says):
    small = "family=register tile_m=8 tile_n=32 reg_m=4 reg_n=4 unroll_k=4"
    rooftile.refuses("emit", "--limits", "minimum", "--variant", small, *options, says=f"illegal here: .*{says}")


def test_emit_prints_kernels_of_other_types(rooftile):
    text = rooftile.run("emit", "--limits", "minimum", "--variant", "tile_m=4 tile_n=8", "--type", "f16xq4b32z_f16",
                        "--trans-b").stdout
    assert "#define ZERO_POINT 1" in text and "narrow_c" in text
    rooftile.refuses("emit", "--limits", "minimum", "--type", "f99", says="written as f32", code=2)


@pytest.fixture
def naive(rooftile):
    """The space's first naive kernel."""
    space = rooftile.run("emit", "--limits", "minimum", "--list-space").stdout.splitlines()
    return next(line for line in space if "family=naive" in line)


def test_emit_prints_glsl_and_spirv(rooftile, naive):
    assert "void main()" in rooftile.run("emit", "--limits", "minimum", "--variant", naive).stdout
    rooftile.run("emit", "--limits", "minimum", "--variant", naive, "--spirv", "kernel.spv")
    assert (rooftile.folder / "kernel.spv").read_bytes()[:4] == b"\x03\x02\x23\x07"
    rooftile.refuses("emit", "--limits", "minimum", "--variant", naive, "--spirv", "no/folder.spv", says="no/folder")


def test_emitted_points_of_the_space_are_legal(rooftile):
    space = rooftile.run("emit", "--limits", "minimum", "--list-space").stdout.splitlines()
    assert len(space) == len(set(space)) > 50
    for line in space[:: len(space) // 7]:
        assert "void main()" in rooftile.run("emit", "--limits", "minimum", "--variant", line).stdout
