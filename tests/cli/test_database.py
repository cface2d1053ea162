"""Databases that are not there, not databases, not ours, or not to be written."""
import json
import os
import subprocess

import numpy as np
import pytest

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]  # root may write everywhere


@pytest.fixture
def operands(rooftile):
    for name in ("a.npy", "b.npy"):
        np.save(rooftile.folder / name, np.eye(3, dtype=np.float32))


def test_path(rooftile):
    assert rooftile.run("db", "path").stdout == f"{rooftile.database}\n"
    assert rooftile.run("--db", "other.db", "db", "path").stdout == "other.db\n"
    rooftile.environment.pop("ROOFTILE_DB")
    assert rooftile.run("db", "path").stdout.startswith(str(rooftile.folder))


@pytest.mark.parametrize("command", [["report"], ["db", "check"], ["db", "stats"], ["query", "SELECT 1"]])
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
def test_read_only_folder(rooftile, operands):
    for path in (rooftile.folder, *rooftile.folder.iterdir()):
        os.chown(path, 65534, 65534)
    parents = rooftile.folder.parents  # pytest's own folders are closed to others
    modes = {path: path.stat().st_mode for path in list(parents)[:3]}
    try:
        for path in modes:
            path.chmod(0o755)
        rooftile.folder.chmod(0o555)
        rooftile.refuses("tune", "--budget", "10s", says=str(rooftile.folder), prefix=NOBODY)
        rooftile.refuses("gemm", "a.npy", "b.npy", "-o", "c.npy", says="c.npy.*Permission denied", prefix=NOBODY)
        rooftile.run("gemm", "a.npy", "b.npy", "-o", "/dev/null", prefix=NOBODY)
    finally:
        rooftile.folder.chmod(0o755)
        for path, mode in modes.items():
            path.chmod(mode)


def may_mount():
    return os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


# Containers often may not; tests/db/fault_test.cpp fills the disk from inside in any case.
@pytest.mark.skipif(not may_mount(), reason="needs the right to mount")
def test_full_disk(rooftile):
    """A file system of 64 KiB: the database does not fit, and what is there stays readable."""
    script = ('mount -t tmpfs -o size=64k tmpfs "$HOME/small" && export ROOFTILE_DB="$HOME/small/rooftile.db" && '
              'exec "$0" tune --m 8 --n 9 --k 10 --budget 20s')
    (rooftile.folder / "small").mkdir()
    rooftile.refuses(says="small.*(full|space)", prefix=["unshare", "--mount", "bash", "-c", script])
