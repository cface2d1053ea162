"""Fixtures of all files: the program in an isolated home folder, and the required form of its error messages."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys

import numpy
import pytest

# A shell that starts the tests in the background ignores these, and programs that are started so go on ignoring them.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
PROGRAM = os.environ["ROOFTILE_PROGRAM"]
SOURCE = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(SOURCE / "tests/support"))


def architecture(program):
    """The field e_machine of an ELF file."""
    with open(program, "rb") as file:
        return file.read(20)[18:]


needs_native_python = pytest.mark.skipif(architecture(PROGRAM) != architecture(sys.executable),
                                         reason="Python is of another architecture than the libraries that it would load")


def new_database(path):
    """Makes an empty database with SQLite itself, and opens it."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")  # Each of some hundred statements would wait for the disk.
    for file in ("tables.sql", "views.sql"):
        connection.executescript((SOURCE / "db/schema" / file).read_text())
    return connection


def change(database, script):
    """Executes statements with Python's own SQLite."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.executescript(script)
        connection.commit()


def value(database, statement):
    """Executes a statement and returns the one value of its one row."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        [row] = connection.execute(statement).fetchall()
        connection.commit()
        return row[0]


class Rooftile:
    """Runs the program with $HOME, $ROOFTILE_DB and the caches in one folder."""

    def __init__(self, folder, program=PROGRAM):
        self.folder = pathlib.Path(folder)
        self.program = program
        self.database = self.folder / "rooftile.db"
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ROOFTILE_", "XDG_", "COLUMNS", "NO_COLOR"))}
        self.environment = dict(inherited, HOME=str(folder), TERM="xterm", ROOFTILE_DB=str(self.database))

    def save(self, **arrays):
        """Writes each array to NAME.npy."""
        for name, array in arrays.items():
            numpy.save(self.folder / f"{name}.npy", array)

    def start(self, *arguments, prefix=(), **options):
        return subprocess.Popen([*prefix, self.program, *map(str, arguments)], cwd=self.folder, text=True,
                                env=self.environment, **options)

    def run(self, *arguments, code=0, prefix=(), timeout=60, **environment):
        """Runs the program to its end and checks its exit code."""
        run = subprocess.run([*prefix, self.program, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
                             timeout=timeout, env=dict(self.environment, **environment))
        said = f"{run.args}: exit code {run.returncode}\n{run.stdout}{run.stderr}"
        assert run.returncode in (code if isinstance(code, tuple) else (code,)), said
        return run

    def refuses(self, *arguments, says, code=1, **options):
        """Expects a failure with nothing on stdout and a message that says what failed, where, or what to do."""
        run = self.run(*arguments, code=code, **options)
        assert run.stdout == "", run.stdout
        # Mesa 25 prints a line of its own where RADV has no hardware.
        assert re.sub("^ac_compute_device_uuid's .*\n", "", run.stderr).startswith("rooftile: "), run.stderr
        assert re.search(says, run.stderr), f"{run.stderr!r} does not say {says!r}"
        return run


def certify_until(rooftile, line, *arguments):
    """Starts a command and sends Ctrl-C after the line that begins so. Certifying comes before the calibration, which takes
    seconds that a test need not wait for."""
    process = rooftile.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = ""
    for text in process.stdout:
        said += text
        if text.startswith(line):
            process.send_signal(signal.SIGINT)
            break
    said += process.communicate(timeout=60)[0]
    assert process.returncode == 130, said
    return said


@pytest.fixture(scope="session")
def exporter(tmp_path_factory):
    """A tuned database with ranked lists of four problems and a portfolio, and its exported file."""
    rooftile = Rooftile(tmp_path_factory.mktemp("exporter"))
    subprocess.run([os.environ["ROOFTILE_WRITE_DATABASE"], rooftile.database, "slow"], check=True)
    # The fallback kernel is faster for small GEMMs, the default kernel for large ones. The import times both on 256 x 256 x 256,
    # where these are about their true times on two cores and a busy program hardly changes their ratio.
    change(rooftile.database, """
        INSERT INTO portfolio (device_id, candidate_id, place, times)
        SELECT 1, id, family = 'naive', CASE family WHEN 'naive' THEN '[[32, 32, 32, 1, 2000], [256, 256, 256, 1, 75000000]]'
                                        ELSE '[[32, 32, 32, 1, 90000], [256, 256, 256, 1, 1500000]]' END
          FROM candidates WHERE signature = 'f32.nn';""")
    rooftile.run("db", "export", "tuned.db")
    return rooftile


@pytest.fixture
def rooftile(tmp_path):
    return Rooftile(tmp_path)


@pytest.fixture(scope="session")
def tuned_folder(tmp_path_factory):
    """The folder that tuned_device.py makes."""
    if made := os.environ.get("ROOFTILE_TUNED_FOLDER"):
        return pathlib.Path(made)
    import tuned_device

    folder = tmp_path_factory.mktemp("tuned")
    tuned_device.tune(folder)
    return folder


@pytest.fixture
def tuned(tuned_folder, tmp_path):
    """A copy of the tuned database in a folder of its own."""
    for file in tuned_folder.glob("rooftile.db*"):
        shutil.copy(file, tmp_path)
    return Rooftile(tmp_path)
