"""Tuning, devices, reports and charts: what the program is asked, and what is made of its answers."""
import fcntl
import html
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

import numpy
import pytest
import rooftile as rt
from rooftile import _progress, ipython, tools

# Stands for `rooftile tune`: writes the lines of progress that the program writes for this package, and ends when it is interrupted.
TUNER = r"""#!/bin/sh
echo "$@" > "$0.asked"
cp "$5" "$0.shapes" 2>/dev/null
[ -n "$ROOFTILE_PROGRESS_LINES" ] || exit 9
printf '0.00\tcalibrate, 0 %%, about 15 s left; then tune for 60 s\n' >&2
printf '0.50\ttune 0/1, searching 8x9x10 nn: 1.5 GFLOP/s, 5 %% of roof\n' >&2
echo 'rooftile: a warning' >&2
if [ -e "$0.wait" ]; then
  trap 'echo interrupted once >> "$0.signals"; exit 130' INT
  touch "$0.waiting"
  while :; do sleep 0.05; done
fi
if [ -e "$0.fail" ]; then echo 'rooftile: no device' >&2; echo 'a table'; exit $(cat "$0.fail"); fi
echo 'a table'
"""


@pytest.fixture
def tuner(tmp_path, monkeypatch):
    program = tmp_path / "rooftile"
    program.write_text(TUNER)
    program.chmod(0o755)
    monkeypatch.setenv("ROOFTILE_PROGRAM", str(program))
    monkeypatch.delenv("NO_COLOR", raising=False)
    return program


def of(program, what):
    return pathlib.Path(f"{program}.{what}")


def test_tuning_shows_progress_and_returns_the_table(tuner):
    seen = []
    done = rt.tune([(8, 9, 10), {"m": 1, "n": 2, "k": 3, "trans_b": True, "type": "f16", "groups": 4, "skew": 1.5}], "60s", lambda *shown: seen.append(shown),
                   database="/a/b.db", device="llvm")
    assert done == rt.Tuned("a table\n", "rooftile: a warning")
    assert seen == [(0.0, "calibrate, 0 %, about 15 s left; then tune for 60 s"),
                    (0.5, "tune 0/1, searching 8x9x10 nn: 1.5 GFLOP/s, 5 % of roof")]
    asked = of(tuner, "asked").read_text().split()
    assert asked[:4] == ["tune", "--budget", "60s", "--shapes"] and asked[5:] == ["--db", "/a/b.db", "--device", "llvm"]
    assert of(tuner, "shapes").read_text().splitlines()[1:] == ["8,9,10,0,0,1,f32,,,,", "1,2,3,0,1,1,f16,,4,1.5,"]
    rt.tune("llm", numpy.float32(2.5), False)
    assert of(tuner, "asked").read_text().split() == ["tune", "--budget", "2.5s", "--set", "llm"]


def test_the_bar_is_drawn_on_terminals_only_and_fits(tuner, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    rt.tune("llm", "60s")
    assert capsys.readouterr().err == ""  # it is no terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for width in (40, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        rt.tune("llm", "60s")
        drawn = capsys.readouterr().err
        assert " 50% |##########..........| tune 0/1, s" in drawn and drawn.endswith("\r") and "\x1b" not in drawn
        assert max(map(len, drawn.split("\r"))) <= width - 1 and ("5 % of roof" in drawn) == (width == 200)
    rt.tune("llm", "60s", progress=False)
    for name, value in (("TERM", "dumb"), ("NO_COLOR", "1")):
        with monkeypatch.context() as plain:
            plain.setenv(name, value)
            rt.tune("llm", "60s")
    assert capsys.readouterr().err == ""


def test_the_width_is_that_of_the_terminal(monkeypatch):
    ours, theirs = os.openpty()
    with open(theirs, "w") as stream, open(ours):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        for name in ("COLUMNS", "NO_COLOR"):
            monkeypatch.delenv(name, raising=False)
        assert _progress.columns() == 80  # it does not say
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
        assert _progress.columns() == 200


class Bars:
    """Stands for tqdm."""

    made = []

    def __init__(self, **options):
        self.n, self.texts, self.closed = 0, [], False
        Bars.made.append(self)

    def set_postfix_str(self, text):
        self.texts.append(text)

    def close(self):
        self.closed = True


def test_the_bar_is_tqdm_s_where_it_is_installed(tuner, monkeypatch):
    module = type(sys)("tqdm.auto")
    module.tqdm = Bars
    monkeypatch.setitem(sys.modules, "tqdm", type(sys)("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    rt.tune("llm", "60s")
    assert Bars.made == []  # no terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    rt.tune("llm", "60s")
    (bar,) = Bars.made
    assert bar.n == 50 and bar.closed and bar.texts[-1].startswith("tune 0/1, searching")


def test_ctrl_c_reaches_the_tuner_once_and_is_raised_when_it_has_ended(tuner):
    of(tuner, "wait").touch()

    def interrupt():
        while not of(tuner, "waiting").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        rt.tune("llm", "60s", False)
    thread.join()
    assert of(tuner, "signals").read_text() == "interrupted once\n"


def test_ctrl_c_while_the_tuner_starts_reaches_it(tuner, monkeypatch):
    of(tuner, "wait").touch()
    start = subprocess.Popen

    def interrupted(*arguments, **options):
        child = start(*arguments, **options)
        while not of(tuner, "waiting").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        return child

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rt.tune("llm", "60s", False)
    assert of(tuner, "signals").read_text() == "interrupted once\n"


@pytest.mark.parametrize("code,kind", [(1, rt.Error), (2, ValueError)])
def test_a_failing_tuner_is_an_error_with_its_messages(tuner, code, kind):
    of(tuner, "fail").write_text(str(code))
    with pytest.raises(kind, match="(?s)no device.*a table"):
        rt.tune("llm", "60s", False)


def test_bad_arguments_are_named():
    for shapes, match in (([(1, 2)], r"^shapes has \(1, 2\)"), ([], "^shapes is empty"), ([{"m": 1, "n": 1, "k": 1, "z": 1}], "^shapes has"),
                          ([{"m": 1, "n": 1, "k": 1, "type": "f32,f16"}], "type is a word"), ("none", "(?i)set"),
                          ([{"m": 1, "n": 1, "k": 1, "type": "f99"}], "^shapes has {.*'f99'}; unknown types 'f99'"),
                          ([(2, 1, 1), (0, 1, 1)], r"^shapes has \(0, 1, 1\); m is 0; it is 1 or more")):
        with pytest.raises(ValueError, match=match):
            rt.tune(shapes, "1s", False)
    with pytest.raises(ValueError, match="--budget is 'soon'"):
        rt.tune("llm", "soon")
    for budget in (None, b"60s"):
        with pytest.raises(TypeError, match=f"^budget is {budget!r}; it is a number"):
            rt.tune("llm", budget)


def test_the_program_is_missing(monkeypatch):
    monkeypatch.setenv("ROOFTILE_PROGRAM", "")
    monkeypatch.setenv("PATH", "/nonexistent")
    if rt._library.bundled() is None:
        with pytest.raises(rt.Error, match="the program rooftile is not installed"):
            rt.devices()


def test_devices_are_listed():
    found = rt.devices()
    assert found and all(device["name"] and device["uuid"] for device in found)
    assert rt.devices(device=found[0]["uuid"])[0]["uuid"] == found[0]["uuid"]


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """With one tuned device, as the runtime's tests have it."""
    path = tmp_path_factory.mktemp("database") / "tuned.db"
    subprocess.run([os.environ["ROOFTILE_WRITE_DATABASE"], path, "slow", "f32"], check=True)
    return path


def test_reports(database, tmp_path):
    found = rt.report(tmp_path / "page.html", database=database)
    assert found["devices"][0]["problems"] is not None
    assert "Rooftile report" in (tmp_path / "page.html").read_text()
    with pytest.raises(rt.Error, match="none.db"):
        rt.report(database=tmp_path / "none.db")
    with pytest.raises(rt.Error, match="nowhere"):
        rt.report("/nonexistent/nowhere.html", database=database)


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """The shell of notebooks: it formats for all media, unlike that of terminals."""
    from IPython.core.interactiveshell import InteractiveShell
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    shell = InteractiveShell.instance()
    yield shell
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()


def run_cell(shell, cell):
    """What IPython sends to the notebook, and what the cell prints."""
    shell.run_cell("%%capture captured\n" + cell).raise_error()
    captured = shell.user_ns["captured"]
    return [output.data for output in captured.outputs], captured.stdout


def test_the_chart_is_shown_in_notebooks(database, shell, monkeypatch):
    assert run_cell(shell, "%load_ext rooftile") == ([], "")
    monkeypatch.setenv("ROOFTILE_DB", str(database))
    for line, name in (("%rooftile", "roofline"), ("%rooftile gains ", "gains")):
        (shown,), _ = run_cell(shell, line)
        page = html.unescape(re.fullmatch(r'<iframe title="[^"]*" srcdoc="([^"]*)" [^>]*></iframe>', shown["text/html"])[1])
        assert f"section:not(#{name})" in page and f'<section id="{name}">' in page and page.rstrip().endswith("</html>")
        assert shown["text/plain"] == f"<the chart '{name}' of rooftile report; a notebook shows it>"
    (shown,), _ = run_cell(shell, "import rooftile; display(rooftile.ipython.chart('map'))")
    assert "<iframe" in shown["text/html"]
    outputs, printed = run_cell(shell, "%rooftile pie")
    assert outputs == [] and "the chart is 'pie'" in printed
    monkeypatch.setenv("ROOFTILE_DB", "/nonexistent/none.db")
    outputs, printed = run_cell(shell, "%rooftile")
    assert outputs == [] and "/nonexistent" in printed
    shell.run_cell("%unload_ext rooftile").raise_error()
    assert "rooftile" not in shell.magics_manager.magics["line"]


def test_every_chart_is_a_section_of_the_page(database):
    for name in ipython.CHARTS:
        assert f'<section id="{name}">' in ipython.chart(name, str(database)).page


def test_rows_have_what_a_problem_leaves_out():
    assert tools._row((1, 2, 3, 1)).startswith("1,2,3,1,0,1")


@pytest.mark.parametrize("named", ["/nonexistent/rooftile", "/etc/passwd"])
def test_a_program_that_cannot_be_started_is_named(monkeypatch, named):
    monkeypatch.setenv("ROOFTILE_PROGRAM", named)
    for start in (rt.devices, rt.report, lambda: rt.tune(shapes=[(8, 8, 8)], budget=1)):
        with pytest.raises(rt.Error, match=f"ROOFTILE_PROGRAM names {named}"):
            start()
