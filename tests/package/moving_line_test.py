"""scripts/tune on terminals and elsewhere: one line says how far packages, configuring and building are. ninja is the real one; apt-get,
CMake and rooftile only say and do what a test needs."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(SOURCE / "tests/support"))
from terminal import ERASE, drawn, kept, on_terminal  # noqa: E402

PARTS = 30
LONG = "error: " + "no such thing " * 20 + "at the end"
PROGRAMS = {
    "bin/id": "echo 0",
    "bin/dpkg-query": "true",
    "bin/apt-get": """case $* in *install*)
  for share in 0 25.5 50 75 100; do echo "dlstatus:1:$share:Retrieving file 1 of 1" >&3; sleep 0.15; done
  for share in 0.0000 50.0000 100.0000; do echo "pmstatus:some-package:$share:Installing" >&3; echo unpacking; sleep 0.15; done
esac""",
    "bin/cmake": """case $1 in
  --preset) sleep 1.2 ;;
  *) cd build && exec ninja -j 1 ;;
esac""",
    "build/rooftile": """echo "$*, $COLUMNS" """,
}


@pytest.fixture
def tree(tmp_path):
    shutil.copytree(SOURCE / "scripts", tmp_path / "scripts")
    (tmp_path / "scripts/packages").write_text("some-package\n")
    for name, text in PROGRAMS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    build(tmp_path, [f"echo a long command {'that does nothing ' * 9}>/dev/null; sleep 0.1"] * PARTS)
    return tmp_path


def build(tree, commands):
    rules = [f"rule r{i}\n command = {command}\nbuild part{i}: r{i}\n" for i, command in enumerate(commands)]
    (tree / "build/build.ninja").write_text("".join(rules))


def environment(tree, **more):
    inherited = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "NINJA_STATUS", "ROOFTILE_JOBS")}
    return {**inherited, "PATH": f"{tree}/bin:{os.environ['PATH']}", "TERM": "xterm", **more}


def tune(tree, columns=40, interrupt_at=(), **more):
    return on_terminal([tree / "scripts/tune"], columns, interrupt_at, env=environment(tree, **more))


def piped(tree):
    run = subprocess.run([tree / "scripts/tune"], env=environment(tree), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    return run.returncode, run.stdout.decode()


def test_a_terminal_shows_step_share_and_time_in_one_line_that_fits(tree):
    code, text = tune(tree)
    assert code == 0, text
    for line in (r"download packages, \d+ %", r"install packages, \d+ %", r"configure, \d+ s so far", rf"build \d+/{PARTS}, \d+ %",
                 rf"build \d+/{PARTS}, \d+ %, about \d+ s left"):
        assert any(re.fullmatch(line, one) for one in drawn(text)), (line, text)
    assert kept(text).splitlines() == ["installing: some-package", "tune --budget 3m, ", "report, "]
    assert max(map(len, drawn(text))) < 40, text
    text = tune(tree, 200, COLUMNS="020")[1]
    assert max(map(len, drawn(text))) == 19, text
    assert kept(text).endswith("report, 020\n")  # the program gets what the user says


@pytest.mark.parametrize("plain", [{"TERM": "dumb"}, {"NO_COLOR": "1"}], ids=lambda plain: [*plain][0])
def test_plain_terminals_get_whole_lines_only(tree, plain):
    build(tree, ["sleep 0.3"] * 2)
    assert tune(tree, **plain) == (0, "installing: some-package\ntune --budget 3m, \nreport, \n")


def test_a_pipe_gets_a_line_in_ten_seconds_at_most(tree):
    build(tree, ["sleep 0.1"] * 8 + ["sleep 11", "sleep 0.1", "sleep 0.1"])
    assert piped(tree) == (0, "installing: some-package\nbuild 8/11, 72 %\ntune --budget 3m, \nreport, \n")


@pytest.mark.parametrize("terminal", [True, False])
def test_errors_of_a_build_are_whole(tree, terminal):
    build(tree, ["sleep 0.3", f"sleep 0.3; echo '{LONG}'; echo; echo '  in a file'; exit 1", "true"])
    code, text = tune(tree) if terminal else piped(tree)
    assert code != 0 and "\nFAILED: part1 \n" in kept(text) and f"\n{LONG}\n\n  in a file\n" in kept(text), text
    assert "report" not in text
    assert bool(drawn(text)) == terminal


def test_errors_of_packages_are_whole(tree):
    (tree / "bin/apt-get").write_text(f"#!/bin/sh\nsleep 1.2\nprintf '%s\\nE: last words' '{LONG}' >&2\nexit 100\n")
    code, text = tune(tree)
    assert code == 1 and drawn(text), text
    assert kept(text) == f"installing: some-package\n{LONG}\nE: last words\nbuild: the apt sources of this system cannot be read; see above\n"


@pytest.mark.parametrize("step", [r"download packages, \d", "configure, ", r"build \d+/"])
def test_ctrl_c_ends_every_step_and_its_line(tree, step):
    code, text = tune(tree, interrupt_at=[step])
    assert code not in (0, None), text
    assert "report" not in text and f"build {PARTS}/" not in text
    remains = text[text.index("^C"):]
    assert remains.endswith(("\n", ERASE)), text
