"""What docs/threat-model.md says of other users, as far as no other test has it. Most needs root, which can be another user.

Its other rows: SidecarsTest, SidecarsOfOthersTest (files beside a database); PipelineCacheFile, ShaderCacheTest, test_run (caches,
preload); ExchangeTest, CertifyImportedTest, test_before_release (databases); T4ReadTest, T4ImportTest, ParseResults; test_npy_files,
test_gguf, fuzz.*; QueriesAreReadOnly; WebServer; WorkerProcessTest, IsolationTest (workers and their kernels)."""
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile

import numpy as np
import pytest
from conftest import PROGRAM, change, new_database
from test_database import NOBODY, machine, sql  # noqa: F401  (a fixture)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs another user's rights")


@pytest.fixture
def shared():
    """A folder such as /tmp, in which another user has put a link to a file of ours."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        (folder / "common").mkdir()
        (folder / "common").chmod(0o1777)
        (folder / "ours").write_text("precious")
        subprocess.run([*NOBODY, "ln", "-s", folder / "ours", folder / "common" / "link"], check=True)
        yield folder


@as_root
@pytest.mark.parametrize("command", [
    ["report", "--html", "LINK"], ["db", "export", "--format", "csv", "--force", "LINK"], ["db", "export", "--force", "LINK"],
    ["emit", "--family", "naive", "--limits", "minimum", "--spirv", "LINK"], ["--db", "LINK", "db", "import", "x.db"],
], ids=" ".join)
def test_links_of_others_are_not_followed(machine, shared, command):
    link = str(shared / "common" / "link")
    shutil.copy(machine.database, machine.folder / "x.db")
    machine.refuses(*[link if word == "LINK" else word for word in command], says="is a link that another user has made in")
    assert (shared / "ours").read_text() == "precious"


@as_root
def test_own_links_are_followed(machine, shared):
    link = shared / "common" / "own"
    link.symlink_to(shared / "ours")
    machine.run("db", "export", "--format", "csv", "--force", link)
    assert link.is_symlink() and (shared / "ours").read_text().startswith("device,")


COMMANDS_THAT_OPEN = [["db", "check"], ["report"], ["query", "SELECT 1"], ["db", "vacuum"], ["report", "--compare", "DATABASE"],
                      ["--db", "x.db", "db", "import", "DATABASE"], ["--db", "x.db", "report", "--compare", "DATABASE"]]


@as_root
@pytest.mark.parametrize("command", COMMANDS_THAT_OPEN, ids=" ".join)
def test_logs_of_others_are_not_read(machine, shared, command):
    database = shared / "common" / "my.db"
    for copy in (database, machine.folder / "x.db"):
        shutil.copy(machine.database, copy)
    subprocess.run([*NOBODY, "touch", f"{database}-wal"], check=True)
    machine.environment["ROOFTILE_DB"] = str(database)
    command = [database if word == "DATABASE" else word for word in command]
    assert re.search("my.db-wal belongs to another user .*and others may write to", machine.run(*command, code=1).stderr)


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("command", COMMANDS_THAT_OPEN, ids=" ".join)
def test_no_command_waits_for_a_pipe(machine, command, suffix):
    shutil.copy(machine.database, machine.folder / "x.db")
    database = machine.folder / "pipe.db"
    if suffix:
        shutil.copy(machine.database, database)
    os.mkfifo(f"{database}{suffix}")
    machine.environment["ROOFTILE_DB"] = str(database)
    command = [database if word == "DATABASE" else word for word in command]
    assert f"pipe.db{suffix} is not a regular file" in machine.run(*command, code=1).stderr


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_a_product_does_not_wait_for_a_pipe(machine, suffix):
    for operand in ("a.npy", "b.npy"):
        np.save(machine.folder / operand, np.eye(3, dtype=np.float32))
    if not suffix:
        machine.database.unlink()
    os.mkfifo(f"{machine.database}{suffix}")
    run = machine.run("gemm", "a.npy", "b.npy", "-o", "c.npy", code=(0, 1))
    assert run.returncode == 0 or f"rooftile.db{suffix} is not a regular file" in run.stderr


def test_what_is_made_is_for_this_user_alone(rooftile, machine):
    place = rooftile.folder / "new" / "deep"
    shutil.copy(machine.database, rooftile.folder / "other.db")
    rooftile.environment.update(ROOFTILE_DB="", XDG_DATA_HOME=str(place))
    rooftile.run("db", "import", "other.db")
    for folder in (place / "rooftile", place, place.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    # What is handed on has the usual mode, and nothing that began to be written remains.
    rooftile.run("db", "export", "--format", "t4", "out.json")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((rooftile.folder / "out.json").stat().st_mode) == 0o666 & ~mask
    assert [file.name for file in rooftile.folder.iterdir() if file.name.startswith(".out")] == []


@pytest.mark.parametrize("statement", [
    "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
    "CREATE VIEW v AS SELECT load_extension('x')",
    "DROP VIEW best_kernels; CREATE VIEW best_kernels AS SELECT randomblob(1000000000)",
    "CREATE TABLE more (x)", "CREATE INDEX i ON runs (abs(id))",
])
def test_no_statement_of_a_foreign_file_runs(machine, statement):
    foreign = machine.folder / "foreign.db"
    connection = new_database(foreign)
    connection.executescript(statement)
    connection.close()
    before = sql(machine, "SELECT count(*) FROM runs")
    for command in (["db", "import"], ["report", "--compare"]):
        run = machine.run(*command, foreign, code=1)
        assert f"{foreign} is no tuning database as Rooftile makes it" in run.stderr
    assert sql(machine, "SELECT count(*) FROM runs") == before


def test_a_comparison_refuses_what_an_import_refuses(machine):
    foreign = machine.folder / "foreign.db"
    shutil.copy(machine.database, foreign)
    sql(machine, "UPDATE runs SET created_at = 'yesterday' WHERE id = 1 RETURNING 1", foreign)
    machine.refuses("report", "--compare", foreign, says="foreign.db holds a run with an invalid time; nothing of it was read")


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_names_of_a_foreign_file_write_no_control_characters(machine, form):
    foreign = machine.folder / "foreign.db"
    shutil.copy(machine.database, foreign)
    change(foreign, """
        UPDATE devices SET name = 'GPU' || char(27) || ']0;owned' || char(7), driver_info = 'x' || char(155) || '2J';
        INSERT INTO calibrations (id, device_id, key) VALUES (1, 1, 'k');
        INSERT INTO calibration_figures (calibration_id, position, name, unit, value, mad, measurements)
        VALUES (1, 0, 'device.' || char(27) || '[31m', 'u' || char(10), 5e-324, 0, 1), (1, 1, 'host.gemm.1x1x1', 'gflops', 5e-324, 0, 1);""")
    change(machine.database, """
        INSERT INTO calibrations (id, device_id, key) VALUES (1, 1, 'k');
        INSERT INTO calibration_figures (calibration_id, position, name, unit, value, mad, measurements)
        VALUES (1, 0, 'host.gemm.1x1x1', 'gflops', 2, 0, 1);""")
    text = machine.run("report", "--compare", foreign, *form).stdout
    assert "GPU?]0;owned?" in text and "x?2J" in text and "device.?[31m" in text
    assert all(c.isprintable() or c == "\n" for c in text) and "\\u00" not in text


@as_root
def test_a_set_user_id_program_takes_no_variable_of_its_caller():
    """The BLAS that a variable names would run with the rights of the program's owner."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        if os.statvfs(folder).f_flag & os.ST_NOSUID:
            pytest.skip("the file system takes no set-user-ID programs")
        (folder / "evil.c").write_text('''#include <fcntl.h>
            __attribute__((constructor)) static void run(void) { open("%s/ran", O_CREAT | O_WRONLY, 0600); }''' % folder)
        subprocess.run([os.environ["ROOFTILE_CC"], "-shared", "-fPIC", "-o", folder / "evil.so", folder / "evil.c"], check=True)
        program = folder / "rooftile"
        shutil.copy(PROGRAM, program)
        for operand in ("a.npy", "b.npy"):
            np.save(folder / operand, np.eye(3, dtype=np.float32))
            (folder / operand).chmod(0o644)
        folder.chmod(0o777)
        environment = dict(os.environ, ROOFTILE_BLAS=str(folder / "evil.so"), ROOFTILE_DB=str(folder / "mine.db"),
                           ROOFTILE_CACHE=str(folder / "cache"), HOME=str(folder), ROOFTILE_TIER="host")
        command = [program, "gemm", "a.npy", "b.npy", "-o", "c.npy"]

        def call():
            return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)

        assert call().returncode == 2 and (folder / "ran").exists(), "the variable counts otherwise"
        (folder / "ran").unlink()
        os.chown(program, 65534, 65534)
        program.chmod(0o4755)
        run = call()
        assert run.returncode == 0, run.stderr
        assert not (folder / "ran").exists()
        assert not (folder / "cache").exists() and not (folder / "mine.db").exists()
        # What such a program started would run with its owner's rights.
        (folder / "node").write_text(f"#!/bin/sh\n>{folder}/ran\n")
        (folder / "node").chmod(0o755)
        (folder / "web" / "node_modules" / "naga-wasm").mkdir(parents=True)
        environment.update(ROOFTILE_WEB_TOOLS=str(folder / "web"), PATH=f"{folder}:/usr/bin:/bin", XDG_CACHE_HOME=str(folder))
        for command in [program, "run", "--", "node"], [program, "emit", "--family", "tiled", "--target", "wgsl"]:
            run = call()
            assert run.returncode == 1 and "set-user-ID" in run.stderr, run.stderr
            assert not (folder / "ran").exists()
