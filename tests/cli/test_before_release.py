"""Databases of before 0.1.0 (schema version 12): no command uses or changes one, and `rooftile db import` takes it as it takes another
machine's. before_release.db.xz is one that such a program has written, with rows in every table."""
import lzma
import pathlib
import shutil
import sqlite3
import struct

import pytest
from conftest import new_database

LAST = 12
BEFORE = bytearray(lzma.decompress(pathlib.Path(__file__).with_name("before_release.db.xz").read_bytes()))
BEFORE[18:20] = b"\2\2"  # With a log, as every program that writes leaves it.


@pytest.fixture
def old(rooftile):
    """The file, which is not the database."""
    (rooftile.folder / "old.db").write_bytes(BEFORE)
    return rooftile.folder / "old.db"


def tables(connection):
    return [name for (name,) in connection.execute(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")]


def of_today(path, old):
    """A database of today with the rows of an old one."""
    connection = new_database(path)
    connection.execute("ATTACH ? AS old", [str(old)])
    for table in tables(connection):
        columns = ", ".join(f'"{row[1]}"' for row in connection.execute(f"PRAGMA main.table_info({table})"))
        connection.execute(f"DELETE FROM main.{table}")
        added = connection.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM old.{table}").rowcount
        assert added > 0, f"{table} has no row in the test's file"
    connection.commit()
    connection.close()


def rows(path):
    """Of all tables and views, without what an import makes itself: the key of its own, and times of day."""
    connection = sqlite3.connect(path)
    views = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name")]
    found = {}
    for name in tables(connection) + views:
        cursor = connection.execute(f"SELECT * FROM {name}")
        names = [column[0] for column in cursor.description]
        made = name in ("origins", "devices", "candidates", "problems", "import_log", "imports")
        found[name] = [[value for value, column in zip(row, names)
                        if not (made and column in ("created_at", "imported_at", "file")) and not (name == "origins" and row[0] == 1)]
                       for row in cursor]
    connection.close()
    return found


def test_all_of_it_arrives_as_from_a_database_of_today(rooftile, old):
    of_today(rooftile.folder / "today.db", old)
    said = rooftile.run("--db", "expected.db", "db", "import", "today.db").stdout
    assert rooftile.run("db", "import", "old.db").stdout == said.replace("today.db", "old.db").replace(
        str(rooftile.folder / "expected.db"), str(rooftile.database))
    assert "2 devices, 3 runs, 18 samples" in said
    assert rows(rooftile.database) == rows(rooftile.folder / "expected.db")
    assert "sound, schema 1" in rooftile.run("db", "check").stdout
    assert old.read_bytes() == BEFORE
    assert "nothing new" in rooftile.run("db", "import", "old.db").stdout
    assert rooftile.run("db", "merge", "merged.db", "old.db").stdout.count("18 samples") == 2


COMMANDS = [["report"], ["query", "SELECT 1"], ["db", "check"], ["db", "stats"], ["db", "vacuum"], ["db", "export", "x.db"],
            ["db", "black-list"], ["db", "import", "old.db"], ["db", "merge", "rooftile.db", "old.db"], ["devices"], ["calibrate"],
            ["tune", "--budget", "5s"], ["explain", "--m", 8, "--n", 8, "--k", 8]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(map(str, command[:2])))
def test_every_command_leaves_it_alone_and_says_what_to_type(rooftile, old, command):
    rooftile.database.write_bytes(BEFORE)
    before = sorted(rooftile.folder.iterdir())
    rooftile.refuses(*command, says=f"{rooftile.database} is a tuning database of before Rooftile 0.1.0 .schema version 12.; it was left as it is: "
                     "move it and the files that begin with its name into another folder, from where `rooftile db import` brings")
    # A reader of a file with a log may leave the log's index, and a log without anything in it.
    for left in set(rooftile.folder.iterdir()) - set(before):
        assert left.name == "rooftile.db-shm" or (left.name == "rooftile.db-wal" and left.stat().st_size == 0), left
    assert rooftile.database.read_bytes() == BEFORE


def test_it_is_moved_with_its_log_and_imported(rooftile):
    """As a process that was killed leaves it."""
    rooftile.database.write_bytes(BEFORE)
    connection = sqlite3.connect(rooftile.database)
    connection.executescript("UPDATE runs SET generator_version = 'logged'")
    (rooftile.folder / "old").mkdir()
    for part in rooftile.folder.glob("rooftile.db*"):  # before SQLite writes the log back
        shutil.copy(part, rooftile.folder / "old")
    connection.close()
    for part in rooftile.folder.glob("rooftile.db*"):
        part.unlink()
    assert "18 samples" in rooftile.run("db", "import", "old/rooftile.db").stdout
    assert "sound, schema 1" in rooftile.run("db", "check").stdout
    assert "logged" in rooftile.run("query", "SELECT DISTINCT generator_version FROM runs").stdout


def test_without_a_place_for_the_copy_nothing_is_imported(rooftile, old):
    run = rooftile.run("db", "import", "old.db", code=1, TMPDIR="/nonexistent")
    assert "set TMPDIR" in run.stderr and not rooftile.database.exists()


@pytest.mark.parametrize("version", [1, 11, 13])
@pytest.mark.parametrize("name", ["old.db", "rooftile.db"])
def test_other_versions_are_refused(rooftile, old, name, version):
    connection = sqlite3.connect(old)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    shutil.move(old, rooftile.folder / name)
    before = (rooftile.folder / name).read_bytes()
    run = rooftile.run("db", "import", name, code=1)
    assert f"schema version {version}" in run.stderr and "12" in run.stderr and run.stdout == ""
    assert set(rooftile.folder.iterdir()) <= {rooftile.folder / (name + left) for left in ("", "-shm", "-wal")} and (rooftile.folder / name).read_bytes() == before


HOSTILE = {
    "a view": ("ALTER TABLE counters RENAME TO c; CREATE VIEW counters AS SELECT * FROM c", "counters.counter_set_id is missing"),
    "a generated column": ("ALTER TABLE outcomes DROP COLUMN confidence;"
                           " ALTER TABLE outcomes ADD COLUMN confidence REAL AS (length(zeroblob(1000000)))", "outcomes.confidence is missing"),
    "no table": ("DROP TABLE portfolio", "portfolio.device_id is missing"),
    "a broken rule": ("PRAGMA ignore_check_constraints = ON; UPDATE samples SET level = -1", "CHECK constraint failed: level > 0"),
    "a row without its run": ("DELETE FROM runs WHERE id = 1", "FOREIGN KEY constraint failed"),
    "a strange time": ("UPDATE runs SET created_at = 'yesterday'", "a run with an invalid time"),
}


@pytest.mark.parametrize("change", HOSTILE)
def test_a_changed_one_is_refused_as_a_whole(rooftile, old, change):
    statements, says = HOSTILE[change]
    connection = sqlite3.connect(old)
    connection.executescript("DROP VIEW tuning_outcomes; DROP VIEW kernel_counters; DROP VIEW untuned_regret;" + statements)
    connection.close()
    run = rooftile.run("db", "import", "old.db", code=1)
    assert f"{old} " in run.stderr and says in run.stderr and "nothing of it was imported" in run.stderr, run.stderr
    assert not rooftile.database.exists()


@pytest.mark.parametrize("entry, sql, says", [
    ("'table', 'portfolio', 'portfolio', 0", "CREATE VIRTUAL TABLE portfolio USING no_module(device_id)", "portfolio.device_id is missing"),
    ("'table', 'portfolio', 'portfolio', 2", "CREATE VIRTUAL TABLE portfolio USING no_module(device_id)", "portfolio.device_id is missing"),
    ("'table', 'portfolio', 'portfolio', 0", "CREATE VIEW portfolio AS SELECT * FROM samples", "is damaged"),
    ("'view', 'other', 'other', 0", "CREATE VIEW samples AS SELECT 1", "is damaged"),
])
def test_what_claims_to_be_a_table_is_not_opened(rooftile, old, entry, sql, says):
    connection = sqlite3.connect(old)
    connection.executescript(f"DROP TABLE portfolio; PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES ({entry}, '{sql}')")
    connection.close()
    assert says in rooftile.run("db", "import", "old.db", code=1).stderr


def test_a_page_that_belongs_to_many_rows_fills_no_disk(rooftile, old):
    """The root of samples has the same page of 32 rows 400 times: 12,800 rows that lie in 4 KiB."""
    connection = sqlite3.connect(old)
    columns = [row[1] for row in connection.execute("PRAGMA table_info(samples)")]
    values = ", ".join("NULL" if column == "id" else column for column in columns)
    connection.executescript(f"CREATE TABLE again AS SELECT {values} FROM samples; DROP VIEW IF EXISTS best_kernels; DROP TABLE samples;"
                             f"CREATE TABLE samples ({', '.join(columns)});")
    while connection.execute("SELECT count(*) FROM samples").fetchone()[0] < 2000:
        connection.execute("INSERT INTO samples SELECT * FROM again LIMIT 1")
    connection.commit()
    connection.executescript("DROP TABLE again; PRAGMA wal_checkpoint(TRUNCATE)")
    [root] = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'samples'").fetchone()
    connection.close()
    content = bytearray(old.read_bytes())
    page = content[(root - 1) * 4096:root * 4096]
    assert page[0] == 5, "an inner page"
    leaf = struct.unpack(">I", page[8:12])[0]
    cells = 400
    page[3:5], page[5:7] = struct.pack(">H", cells), struct.pack(">H", 4096 - 6 * cells)
    for i in range(cells):
        at = 4096 - 6 * (i + 1)
        page[12 + 2 * i:14 + 2 * i] = struct.pack(">H", at)
        page[at:at + 6] = struct.pack(">I", leaf) + bytes((0x80 | i >> 7, i & 0x7f))
    content[(root - 1) * 4096:root * 4096] = page
    old.write_bytes(content)
    run = rooftile.run("db", "import", "old.db", code=1)
    assert "is damaged (it has more rows than fit into its size)" in run.stderr and not rooftile.database.exists()


def test_damage_is_named(rooftile, old):
    old.write_bytes(BEFORE[:8192] + b"x" * (len(BEFORE) - 8192))
    assert f"{old} is damaged" in rooftile.run("db", "import", "old.db", code=1).stderr
