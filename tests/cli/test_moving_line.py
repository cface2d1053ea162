"""What `rooftile tune` and `inspect` draw on a terminal, and what they print elsewhere."""
import re
import signal
import subprocess

import pytest
from conftest import PROGRAM
from terminal import drawn, kept, on_terminal
from tuned_device import OTHER_SIZES, SHORT

STEP = r"(tune [01]/1|finish), \d+ %, about \d+ s left, "
BEGUN = r"tune 0/1, \d"


def tune(machine, *arguments, columns=80, interrupt_at=(), **more):
    command = [PROGRAM, "tune", *map(str, OTHER_SIZES), *arguments]
    return on_terminal(command, columns, interrupt_at, env={**machine.environment, "TERM": "xterm", **more}, cwd=machine.folder)


def test_the_line_says_step_share_and_time_left_and_is_erased(tuned):
    code, text = tune(tuned, "--budget", "3s")
    assert code in SHORT and re.search(r"^[01] of 1 problems in", kept(text), re.MULTILINE), text
    for width, columns, activity, more in ((80, 80, "(searching|certifying|comparing) ", {}), (40, 40, "", {}), (40, 200, "", {"COLUMNS": "40"})):
        lines = drawn(tune(tuned, "--budget", "60s", columns=columns, interrupt_at=[r"(?s)tune 0/1, .*\r.*tune 0/1, "], **more)[1])
        assert lines and all(re.match(STEP + activity, line) for line in lines) and max(map(len, lines)) < width, lines


def test_plain_terminals_get_whole_lines_only(tuned):
    code, text = tune(tuned, "--budget", "1s", TERM="dumb")
    assert code in SHORT and "tuning " in text and not re.search("[\r\x1b]|about", text), text


@pytest.mark.parametrize("plain", [{"TERM": "dumb"}, {"NO_COLOR": "1"}], ids=lambda plain: [*plain][0])
def test_plain_terminals_get_no_count_of_inspected_kernels(tuned, plain):
    command = [PROGRAM, "inspect", "--list-space", "--m", "64", "--n", "65", "--k", "66", "--limit", "2"]
    texts = [on_terminal(command, 80, env={**tuned.environment, "TERM": "xterm", **more}, cwd=tuned.folder)
             for more in ({}, plain)]
    assert "\r1/2 kernels\r" in texts[0][1] and texts[1] == (0, texts[0][1].split("\n", 1)[1])


def test_a_pipe_gets_no_carriage_return(tuned_folder):
    for name in ("first_run", "last_run"):
        assert not re.search("[\r\x1b]|about", "".join((tuned_folder / f"{name}.{part}").read_text() for part in ("txt", "err")))


def test_the_python_package_gets_lines_of_a_share_and_a_text(tuned):
    tuned.environment["ROOFTILE_PROGRESS_LINES"] = "1"
    search = tuned.start("tune", *OTHER_SIZES, "--budget", "60s", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    text = next(line for line in search.stderr if "\t" in line)
    search.send_signal(signal.SIGINT)
    text += search.communicate(timeout=60)[1]
    lines = [line for line in text.splitlines() if "\t" in line]
    assert all(re.fullmatch(r"[01]\.\d\d\t(tune [01]/1|finish), [^\t]*", line) for line in lines), text
    assert not re.search("[\r\x1b]", text)


@pytest.mark.parametrize("arguments, step", [(["--recalibrate"], r"calibrate, [1-9]\d* %, about \d+ s left; then tune for 60 s"), ([], BEGUN)])
def test_ctrl_c_leaves_the_cursor_behind_a_whole_line(tuned, arguments, step):
    code, text = tune(tuned, "--budget", "60s", *arguments, interrupt_at=[step])
    assert code == 130 and "; interrupted: the next run continues from here" in kept(text).replace("\n  ", " "), text


def test_a_second_ctrl_c_leaves_the_cursor_at_the_start_of_a_line(tuned):
    code, text = tune(tuned, "--budget", "60s", interrupt_at=[BEGUN, r"another Ctrl-C ends it at once\r\n"])
    text = text.removesuffix("^C")  # of the terminal, where the program has already ended
    assert code == 130 and text.endswith("\n"), text
