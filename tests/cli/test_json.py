"""--json of every command that prints a table, and output on terminals of several widths."""
import collections
import json

import pytest
import terminal
from conftest import PROGRAM, change
from test_database import machine  # noqa: F401  (a fixture)


def document(rooftile, *arguments, code=0):
    run = rooftile.run(*arguments, "--json", code=code)
    return json.loads(run.stdout)


def test_query_has_numbers_as_numbers_and_null(machine):
    rows = document(machine, "query", "SELECT 1 AS a, 0.1 AS b, '2' AS c, NULL AS d, 'x' AS a")["rows"]
    assert rows == [{"a": 1, "b": 0.1, "c": "2", "d": None, "a:2": "x"}]
    empty = document(machine, "query", "SELECT m FROM problems WHERE m > 1000")
    assert empty == {"columns": ["m"], "rows": []}
    machine.refuses("query", "SELECT 1", "--csv", "--json", says="cannot be used together", code=2)


def test_stats_and_check(machine):
    stats = document(machine, "db", "stats")
    assert stats["rows"]["samples"] == 3 and stats["rows"]["devices"] == 2
    assert [(device["name"], device["runs"], device["samples"]) for device in stats["devices"]] == [("A GPU", 1, 2), ("Another", 1, 1)]
    assert stats["database"] == str(machine.database)
    check = document(machine, "db", "check")
    assert check["sound"] is True and check["defects"] == []
    machine.database.write_bytes(machine.database.read_bytes()[:-4096])
    run = machine.run("db", "check", "--json", code=1)
    assert not run.stdout or json.loads(run.stdout)["sound"] is False
    assert run.stderr.startswith("rooftile: ")


def test_black_list(machine):
    change(machine.database, "INSERT INTO black_list (device_id, candidate_id, reason) VALUES (1, 1, 'it \"hung\"')")
    devices = document(machine, "db", "black-list")["devices"]
    assert [len(device["black_listed"]) for device in devices] == [1, 0]
    entry = devices[0]["black_listed"][0]
    assert entry["reason"] == 'it "hung"' and entry["variant"].startswith("family=naive") and entry["signature"] == "f32.nn"
    machine.refuses("db", "black-list", "--clear", "--json", says="cannot be used together", code=2)


def test_list_of_the_space(rooftile):
    kernels = document(rooftile, "emit", "--list-space", "--limits", "minimum", "--family", "naive")["kernels"]
    lines = rooftile.run("emit", "--list-space", "--limits", "minimum", "--family", "naive").stdout.splitlines()
    assert [kernel["variant"] for kernel in kernels] == lines
    assert kernels[0]["parameters"]["family"] == "naive" and isinstance(kernels[0]["parameters"]["tile_m"], int)
    rooftile.refuses("emit", "--family", "naive", "--json", says="--json needs --list-space", code=2)


def on_terminal(rooftile, columns, *arguments):
    """What the program prints on a terminal that is so wide."""
    return terminal.on_terminal([PROGRAM, *map(str, arguments)], columns, cwd=rooftile.folder,
                                env=dict(rooftile.environment, TERM="xterm-256color"))[1]


WIDE = "SELECT 'a device with quite a long name (LLVM 15.0.6, 256 bits)' AS device, 'Mesa 22.3.6' AS driver, 7 AS n"


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("arguments", [
    ["--help"], ["tune", "--help"], ["db", "import", "--help"], ["db", "stats"], ["query", WIDE], ["report"], ["report", "--calibration"],
], ids=lambda arguments: arguments[0] + arguments[-1][:6])
def test_lines_fit_the_terminal_without_colours(machine, columns, arguments):
    text = on_terminal(machine, columns, *arguments)
    assert "\x1b" not in text
    too_long = [line for line in text.splitlines() if len(line) > columns]
    # Examples and paths are to be copied, and are not broken.
    assert [line for line in too_long if not line.lstrip().startswith("rooftile ") and " " in line.strip()] == []
    # Nothing is cut off.
    piped = machine.run(*arguments).stdout
    assert not collections.Counter("".join(piped.split())) - collections.Counter("".join(text.split()))


def test_a_pipe_gets_a_line_a_row(machine):
    lines = machine.run("query", WIDE).stdout.splitlines()
    assert len(lines) == 2 and len(lines[1]) > 70
    assert len(on_terminal(machine, 60, "query", WIDE).splitlines()) > 2


def test_columns_comes_before_what_the_terminal_says(machine):
    machine.environment["COLUMNS"] = "60"
    assert max(map(len, on_terminal(machine, 200, "query", WIDE).splitlines())) <= 60
    assert len(machine.run("query", WIDE).stdout.splitlines()) == 2  # a pipe has no width
    for nonsense in ("0", "-3", "many", ""):
        machine.environment["COLUMNS"] = nonsense
        assert len(on_terminal(machine, 200, "query", WIDE).splitlines()) == 2
