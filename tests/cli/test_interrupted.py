"""A command that a signal ends leaves no file behind that nobody asked for, loses none, and ends with 130; a full disk is an error."""
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time

import numpy as np
import pytest

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
SAMPLES = 200_000


@pytest.fixture(scope="module")
def large_file(tmp_path_factory):
    """A database whose export takes far longer than it takes to see its temporary file."""
    path = tmp_path_factory.mktemp("large") / "large.db"
    subprocess.run([os.environ["ROOFTILE_WRITE_DATABASE"], path, "fast"], check=True)
    with sqlite3.connect(path) as base:
        base.execute("INSERT INTO runs (device_id, generator_version, settings, key) SELECT id, '1', '{}', id FROM devices")
        base.execute(f"""WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {SAMPLES})
            INSERT INTO samples (run_id, candidate_id, problem_id, status, measurements, kernel_ns, kernel_mad_ns, kernel_low_ns,
                                 kernel_high_ns, pack_ns, compile_ns, detail)
            SELECT r.id, c.id, p.id, 'measured', 3, 2000 + i, 7, 1900, 2100, 0, 1e6, '' FROM n CROSS JOIN
            (SELECT id FROM runs LIMIT 1) AS r CROSS JOIN (SELECT candidate_id AS id, problem_id FROM winners LIMIT 1) AS c
            CROSS JOIN problems AS p ON p.id = c.problem_id""")
    return path


@pytest.fixture
def large(rooftile, large_file):
    for part in large_file.parent.glob("large.db*"):
        shutil.copy(part, rooftile.folder / part.name.replace("large", "rooftile"))
    (rooftile.folder / "tmp").mkdir()
    rooftile.environment["TMPDIR"] = str(rooftile.folder / "tmp")
    return rooftile


def files(machine):
    """All files but the database, what SQLite keeps beside it, and SQLite's temporary files: it opens them and removes their
    names at once, so that a signal can only meet an empty one between the two."""
    names = {str(path.relative_to(machine.folder)) for path in machine.folder.rglob("*")}
    return {name for name in names if not name.startswith(("rooftile.db", "tmp/etilqs_"))}


def interrupt(machine, command, *numbers, prefix=()):
    """Sends the signals once the command has made a file; returns the command."""
    before = files(machine)
    process = machine.start(*command, prefix=prefix, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while files(machine) <= before and process.poll() is None:
        time.sleep(0.001)
    assert process.poll() is None, ("it ended before a temporary file was seen", process.communicate())
    for number in numbers:
        process.send_signal(number)
    process.said = process.communicate(timeout=60)
    return process


EXPORTS = [["db", "export", "--force", "out"], ["db", "export", "--force", "--format", "csv", "out"],
           ["db", "export", "--force", "--format", "t4", "out"]]


@pytest.mark.parametrize("number", ENDING)
@pytest.mark.parametrize("command", EXPORTS, ids=["db", "csv", "t4"])
def test_an_interrupted_export_leaves_the_old_file_alone(large, command, number):
    (large.folder / "out").write_text("precious")
    before = files(large)
    process = interrupt(large, command, number)
    assert process.returncode == 130, process.said
    assert files(large) == before
    assert (large.folder / "out").read_text() == "precious"


def test_an_interrupted_import_of_results_leaves_no_copy(large):
    with sqlite3.connect(large.database) as base:
        base.execute("DELETE FROM samples WHERE id > 20000")
    large.run("db", "export", "--format", "t4", "results.json")
    large.environment["ROOFTILE_DB"] = str(large.folder / "rooftile.db2")
    before = files(large)
    process = interrupt(large, ["db", "import", "results.json"], signal.SIGTERM)
    assert process.returncode == 130, process.said
    assert files(large) == before


def test_signals_that_were_ignored_at_the_start_stay_ignored(large):
    ignoring = ["sh", "-c", "trap '' INT TERM HUP; exec \"$@\"", "sh"]
    process = interrupt(large, ["db", "export", "out"], *ENDING, prefix=ignoring)
    assert process.returncode == 0, process.said
    assert files(large) == {"out", "tmp"}


def test_programs_and_their_limits_are_not_changed(rooftile):
    """SIGXFSZ is ignored by the command line alone: `rooftile run` hands the program what it was given."""
    seen = rooftile.run("run", "--", "grep", "^SigIgn", "/proc/self/status").stdout
    alone = subprocess.run(["grep", "^SigIgn", "/proc/self/status"], capture_output=True, text=True).stdout
    assert seen == alone


@pytest.mark.parametrize("command", [*EXPORTS, ["db", "merge", "new.db", "rooftile.db"],
                                     ["quantize", "b.npy", "-o", "q"], ["gemm", "b.npy", "b.npy", "-o", "out"]],
                         ids=lambda command: " ".join(command[:5]))
def test_a_file_that_may_not_grow_is_an_error(large, command):
    """ulimit -f is a full disk to the kernel, which sends a signal first."""
    np.save(large.folder / "b.npy", np.ones((256, 512), np.float32)[:, :256].copy())
    (large.folder / "out").write_text("precious")
    before = files(large)
    large.refuses(*command, says="cannot write|File too large|full|disk", prefix=["bash", "-c", 'ulimit -f 8; exec "$@"', "bash"])
    assert files(large) == before
    assert (large.folder / "out").read_text() == "precious"
