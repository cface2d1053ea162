"""Databases that are missing, damaged, of another program, or read-only."""
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import tempfile

import numpy as np
import pytest
from conftest import Rooftile, change, new_database, value

# Runs a command as the user nobody, because root may write everywhere.
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.fixture
def operands(rooftile):
    for name in ("a.npy", "b.npy"):
        np.save(rooftile.folder / name, np.eye(3, dtype=np.float32))


def test_path(rooftile):
    assert rooftile.run("db", "path").stdout == f"{rooftile.database}\n"
    assert rooftile.run("--db", "other.db", "db", "path").stdout == "other.db\n"
    rooftile.environment.pop("ROOFTILE_DB")
    assert rooftile.run("db", "path").stdout.startswith(str(rooftile.folder))


@pytest.mark.parametrize("command", [["report"], ["db", "check"], ["db", "stats"], ["db", "vacuum"], ["db", "export", "x.db"],
                                     ["query", "SELECT 1"]])
def test_missing_database_says_how_to_make_one(rooftile, command):
    rooftile.refuses(*command, says=f"{rooftile.database}.*rooftile tune")
    assert not rooftile.database.exists()


def test_missing_database_computes_on_the_host(rooftile, operands):
    rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--verify")
    assert "host" in rooftile.run("explain", "--m", 64, "--n", 64, "--k", 64).stdout
    assert json.loads(rooftile.run("explain", "--m", 64, "--n", 64, "--k", 64, "--json").stdout)["tier"].startswith("host")
    assert not rooftile.database.exists()


@pytest.mark.parametrize("command", [["report"], ["db", "check"], ["query", "SELECT 1"],
                                     ["gemm", "a.npy", "b.npy", "-o", "c.npy"]])
def test_text_file_is_refused_and_left_alone(rooftile, operands, command):
    rooftile.database.write_text("my shopping list\n")
    rooftile.refuses(*command, says=str(rooftile.database))
    assert rooftile.database.read_text() == "my shopping list\n"
    assert not (rooftile.folder / "c.npy").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user's rights")
def test_read_only_folder():
    # pytest's own folders do not work here: each pytest that starts closes their common folder to other users again.
    with tempfile.TemporaryDirectory() as name:
        rooftile = Rooftile(pathlib.Path(name))
        for operand in ("a.npy", "b.npy"):
            np.save(rooftile.folder / operand, np.eye(3, dtype=np.float32))
        for path in (rooftile.folder, *rooftile.folder.iterdir()):
            os.chown(path, 65534, 65534)
        rooftile.folder.chmod(0o555)
        rooftile.refuses("tune", "--budget", "10s", says=str(rooftile.folder), prefix=NOBODY)
        rooftile.refuses("gemm", "a.npy", "b.npy", "-o", "c.npy", says="c.npy.*Permission denied", prefix=NOBODY)
        rooftile.run("gemm", "a.npy", "b.npy", "-o", "/dev/null", prefix=NOBODY)


def may_mount():
    return os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


# Containers often do not permit this; tests/db/fault_test.cpp always simulates a full disk inside the process.
@pytest.mark.skipif(not may_mount(), reason="needs the right to mount")
def test_full_disk(rooftile):
    """On a file system of 64 KiB the database does not fit, and existing data stays readable."""
    script = ('mount -t tmpfs -o size=64k tmpfs "$HOME/small" && export ROOFTILE_DB="$HOME/small/rooftile.db" && '
              'exec "$0" tune --m 8 --n 9 --k 10 --budget 20s')
    (rooftile.folder / "small").mkdir()
    rooftile.refuses(says="small.*(full|space)", prefix=["unshare", "--mount", "bash", "-c", script])


def sql(rooftile, statement, database=None):
    return value(database or rooftile.database, statement)


@pytest.fixture
def machine(rooftile):
    """A synthetic database with devices, runs and samples."""
    connection = new_database(rooftile.database)
    connection.executescript("""
        INSERT INTO devices (id, device_uuid, vendor_id, product_id, driver_id, driver_version, pipeline_cache_uuid, name,
          driver_name, driver_info, kind, api_version, memory_bytes, unified_memory, limits)
        VALUES (1, 'aa', 1, 2, 3, 4, 'bb', 'A GPU', 'driver', 'driver 1', 'discrete', 1, 1, 0, '{}'),
               (2, 'cc', 1, 2, 3, 4, 'bb', 'Another', 'driver', 'driver 2', 'discrete', 1, 1, 0, '{}');
        INSERT INTO candidates (id, hash, signature, family, parameters, variant)
        VALUES (1, 'abc', 'f32.nn', 'naive', '{}', 'family=naive');
        INSERT INTO problems (id, type, trans_a, trans_b, m, n, k, batch, lda, ldb, ldc, stride_a, stride_b, stride_c,
          epilogue, alpha, beta, bucket)
        VALUES (1, 'f32', 'n', 'n', 3, 4, 5, 1, 5, 4, 4, 0, 0, 0, '', 1, 0, 'any');
        INSERT INTO runs (id, device_id, generator_version, settings, key) VALUES (1, 1, '1', '{}', 'k1'), (2, 2, '1', '{}', 'k2');
        INSERT INTO samples (run_id, candidate_id, problem_id, status, measurements, kernel_ns, kernel_mad_ns, kernel_low_ns,
          kernel_high_ns, pack_ns, compile_ns, detail)
        VALUES (1, 1, 1, 'measured', 3, 10, 1, 9, 11, 0, 5, ''), (1, 1, 1, 'measured', 3, 11, 1, 9, 11, 0, 5, ''),
               (2, 1, 1, 'measured', 3, 12, 1, 9, 11, 0, 5, '');""")
    connection.commit()
    connection.close()
    return rooftile


def test_export_import_and_merge(machine):
    assert "2 devices" in machine.run("db", "export", "all.db").stdout
    assert sql(machine, "SELECT count(*) FROM samples", machine.folder / "all.db") == 3
    machine.run("db", "export", "one.db", "--device", "A GPU")
    assert sql(machine, "SELECT count(*) FROM samples", machine.folder / "one.db") == 2
    machine.refuses("db", "export", "none.db", "--device", "Nobody's", says="matches 'Nobody's'.*db stats")
    machine.refuses("db", "export", machine.database, says="the database itself", code=2)
    assert not (machine.folder / "none.db").exists()

    other = ["--db", "other.db"]
    assert "1 device, 1 run, 2 samples" in machine.run(*other, "db", "import", "one.db").stdout
    assert "nothing new" in machine.run(*other, "db", "import", "one.db").stdout
    said = machine.run(*other, "db", "import", "one.db", "all.db").stdout
    assert "1 device, 1 run, 1 sample and 0 ranked kernels added from 2 of 2 files" in said
    machine.run("db", "merge", "merged.db", "one.db", "all.db", "other.db")
    assert sql(machine, "SELECT count(*) FROM samples", machine.folder / "merged.db") == 3
    assert "sound" in machine.run("--db", "merged.db", "db", "check").stdout
    assert "A GPU" in machine.run("--db", "merged.db", "report").stdout


def test_an_export_replaces_a_file_only_when_forced(machine):
    (machine.folder / "mine.db").write_text("my shopping list\n")
    machine.refuses("db", "export", "mine.db", says="mine.db exists; --force replaces it")
    assert (machine.folder / "mine.db").read_text() == "my shopping list\n"
    assert "2 devices" in machine.run("db", "export", "mine.db", "--force").stdout
    assert "sound" in machine.run("--db", "mine.db", "db", "check").stdout
    machine.refuses("db", "export", machine.database, "--force", says="the database itself", code=2)
    machine.run("db", "export", "link.db")
    (machine.folder / "link.db").rename(machine.folder / "target.db")
    (machine.folder / "link.db").symlink_to("target.db")
    machine.refuses("db", "export", "link.db", says="link.db exists")
    (machine.folder / "space.csv").write_text("mine")
    machine.refuses("db", "export-space", "space.csv", "--m", 3, "--n", 4, "--k", 5, "--device", "A GPU",
                    says="space.csv exists; --force replaces it")
    machine.run("db", "export-space", "space.csv", "--m", 3, "--n", 4, "--k", 5, "--device", "A GPU", "--force")
    assert (machine.folder / "space.csv").read_text().startswith("#")


def test_a_refused_file_does_not_stop_the_others(machine):
    machine.run("db", "export", "all.db")
    (machine.folder / "text.db").write_text("my shopping list\n" * 40)
    run = machine.run("--db", "other.db", "db", "import", "text.db", "all.db", "missing.db", code=1)
    assert "3 samples" in run.stdout and "1 of 3 files" in run.stdout
    assert "text.db" in run.stderr and "missing.db" in run.stderr
    assert (machine.folder / "text.db").read_text().startswith("my shopping")


def test_stats_list_each_device(machine):
    text = machine.run("db", "stats").stdout
    assert len([line for line in text.splitlines() if line.startswith("A GPU")]) == 1
    [row] = [line.split() for line in text.splitlines() if line.startswith("A GPU")]
    assert row[4:8] == ["1", "0", "2", "1"]  # runs, imported, samples, problems


def test_vacuum_returns_free_pages(machine):
    for detail in ("hex(randomblob(200000))", "''"):
        change(machine.database, f"UPDATE samples SET detail = {detail} WHERE id = 1")
    before = machine.database.stat().st_size
    machine.run("db", "vacuum")
    assert machine.database.stat().st_size < before - 300000
    assert "sound" in machine.run("db", "check").stdout
    machine.refuses("--db", "nothing.db", "db", "vacuum", says="nothing.db.*rooftile tune")


@pytest.mark.parametrize("command", [["report"], ["db", "check"], ["db", "stats"], ["db", "vacuum"], ["db", "export", "x.db"],
                                     ["query", "SELECT 1"], ["tune", "--refresh", "--budget", "5s"]])
def test_a_newer_file_is_refused_and_left_alone(machine, command):
    version = int(sql(machine, "PRAGMA user_version"))
    sqlite3.connect(machine.database).execute(f"PRAGMA user_version = {version + 1}").close()
    sqlite3.connect(machine.database).execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
    before = machine.database.read_bytes()
    machine.refuses(*command, says=f"version {version + 1}.*up to {version}.*update Rooftile")
    assert machine.database.read_bytes() == before


def test_a_newer_file_is_not_imported(machine):
    machine.run("db", "export", "newer.db")
    version = int(sql(machine, "PRAGMA user_version"))
    sqlite3.connect(machine.folder / "newer.db").execute(f"PRAGMA user_version = {version + 1}").close()
    run = machine.run("--db", "own.db", "db", "import", "newer.db", code=1)
    assert "update Rooftile" in run.stderr and run.stdout == ""


def test_check_finds_what_is_wrong(machine):
    change(machine.database, "DELETE FROM problems")
    machine.refuses("db", "check", says="3 rows of samples referring to no row of problems")


FOREIGN = {"text": b"my shopping list\n", "zeros": bytes(8192), "noise": os.urandom(5000), "one byte": b"x"}
# Writing commands set a damaged tuning database aside.
WRITERS = [["db", "import", "all.db"], ["db", "import", "missing.db"], ["db", "vacuum"], ["calibrate"], ["tune", "--budget", "5s"],
           ["tune", "--refresh", "--budget", "5s"], ["db", "merge", "rooftile.db", "all.db"]]


@pytest.mark.parametrize("content", FOREIGN)
@pytest.mark.parametrize("command", WRITERS, ids=" ".join)
def test_no_command_sets_aside_a_file_that_is_not_rooftiles(machine, command, content):
    machine.run("db", "export", "all.db")
    for file in machine.folder.glob("rooftile.db*"):
        file.unlink()
    machine.database.write_bytes(FOREIGN[content])
    before = sorted(machine.folder.iterdir())
    machine.refuses(*command, says=f"{machine.database} is not a tuning database .*left as it is: move it away, or name another file")
    assert machine.database.read_bytes() == FOREIGN[content] and sorted(machine.folder.iterdir()) == before


def test_a_damaged_database_of_rooftiles_is_set_aside_by_an_import(machine):
    machine.run("db", "export", "all.db")
    sound = machine.database.read_bytes()
    for file in machine.folder.glob("rooftile.db*"):
        file.unlink()
    machine.database.write_bytes(sound[:5000])
    run = machine.run("db", "import", "all.db")
    assert "was damaged" in run.stderr and "3 samples" in run.stdout
    [aside] = machine.folder.glob("rooftile.db.damaged-*")
    assert aside.read_bytes() == sound[:5000]


@pytest.mark.parametrize("command", [["db", "merge", "new.db", "missing.db"], ["db", "merge", "new.db", "."],
                                     ["--db", "new.db", "db", "import", "missing.db"]], ids=" ".join)
def test_a_new_database_is_not_made_from_nothing(rooftile, command):
    rooftile.run(*command, code=1)
    assert not list(rooftile.folder.glob("new.db*"))


# Paths that are not readable files, and the message for each.
OTHER_PLACES = {"folder": "folder is a folder", "pipe": "pipe is .*not a regular file", "loop": "loop: Too many levels",
                "x" * 300: "File name too long", "file/below": "no (file|folder|tuning database)|Not a directory|No such file"}


def other_places(rooftile):
    (rooftile.folder / "folder").mkdir()
    os.mkfifo(rooftile.folder / "pipe")
    (rooftile.folder / "loop").symlink_to("loop")
    (rooftile.folder / "file").write_text("x")


@pytest.mark.parametrize("place", OTHER_PLACES)
@pytest.mark.parametrize("command", [["report"], ["explain", "--m", 8, "--n", 8, "--k", 8], ["db", "check"], ["db", "vacuum"],
                                     ["devices"], ["gemm", "a.npy", "b.npy", "-o", "c.npy"], ["db", "import", "x.db"], ["calibrate"]],
                         ids=lambda command: " ".join(map(str, command[:2])))
def test_a_database_path_that_is_no_file_is_told_in_words(rooftile, operands, command, place):
    other_places(rooftile)
    if place == "file/below" and command[0] in ("explain", "devices", "gemm"):
        return  # A missing database is no error, as on any new machine.
    run = rooftile.refuses(*command, says=OTHER_PLACES[place], ROOFTILE_DB=str(rooftile.folder / place))
    assert "filesystem error" not in run.stderr and "ROOFTILE_DB or --db" in run.stderr


@pytest.mark.parametrize("place", OTHER_PLACES)
@pytest.mark.parametrize("command", [["db", "import", None], ["db", "merge", "new.db", None], ["report", "--compare", None]],
                         ids=lambda command: " ".join(map(str, command[:2])))
def test_a_path_to_read_that_is_no_file_is_told_in_words(machine, command, place):
    other_places(machine)
    run = machine.run(*[place if word is None else word for word in command], code=1)
    assert re.search(OTHER_PLACES[place], run.stderr) and "ROOFTILE_DB" not in run.stderr, run.stderr
    assert "filesystem error" not in run.stderr


@pytest.mark.parametrize("place", ["folder", "pipe"])
def test_an_export_replaces_nothing_but_a_file(machine, place):
    other_places(machine)
    for force in ([], ["--force"]):
        machine.refuses("db", "export", place, *force, says=f"cannot write .*{place}: it is (a folder|not a regular file)")
    assert (machine.folder / "folder").is_dir() and (machine.folder / "pipe").is_fifo()


@pytest.mark.parametrize("other, says", [("text.db", "text.db is not a tuning database"), ("missing.db", "missing.db.*rooftile tune"),
                                         ("empty.db", "empty.db has 0 devices")])
def test_what_is_wrong_with_the_second_file_of_a_comparison_is_told_of_that(machine, other, says):
    (machine.folder / "text.db").write_text("my shopping list\n")
    new_database(machine.folder / "empty.db").close()
    said = machine.refuses("report", "--compare", other, says=says).stderr
    assert "--compare" in said and "ROOFTILE_DB" not in said


def test_an_empty_name_of_a_file_is_wrong_use(rooftile):
    for command in (["--db", "", "report"], ["report", "--compare", ""], ["report", "--html", ""], ["db", "export", ""],
                    ["db", "import", ""], ["db", "merge", "", "x.db"], ["tune", "--shapes", ""], ["emit", "--spirv", ""],
                    ["gemm", "", "b.npy", "-o", "c.npy"], ["gemm", "a.npy", "b.npy", "-o", ""], ["quantize", "", "-o", "q"]):
        run = rooftile.run(*command, code=1 if command[:2] == ["db", "import"] else 2)
        assert "name of a file is empty" in run.stderr or "name of the file is empty" in run.stderr, run.stderr


def test_an_import_that_adds_nothing_leaves_no_database_behind(rooftile):
    (rooftile.folder / "bad.db").write_text("not a database")
    run = rooftile.run("--db", "new.db", "db", "import", "bad.db", "missing.db", code=1)
    assert "bad.db" in run.stderr and "missing.db" in run.stderr
    assert not list(rooftile.folder.glob("new.db*"))
