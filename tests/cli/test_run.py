"""`rooftile run` passes on the program's arguments, environment, output and exit code."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from conftest import PROGRAM, needs_native_python

SHOW = "import json, os, sys; print(json.dumps([sys.argv[1:], {k: v for k, v in os.environ.items() if 'ROOFTILE' in k or k == 'LD_PRELOAD'}]))"


def shown(run):
    return json.loads(run.stdout)


def test_words_of_the_program_are_its_own(rooftile):
    words = ["-h", "--help", "--db", "x", "[a,b]", "--", "report", "", "a b"]
    for separator in (["--"], []):
        assert shown(rooftile.run("run", *separator, sys.executable, "-c", SHOW, *words))[0] == words


def test_options_become_environment(rooftile):
    arguments, environment = shown(rooftile.run("run", "--tier", "device", "--db", "some.db", "--device", "llvm", "--",
                                                sys.executable, "-c", SHOW))
    assert arguments == []
    assert os.path.basename(environment.pop("LD_PRELOAD")) == "librooftile_preload.so"
    assert environment == {"ROOFTILE_TIER": "device", "ROOFTILE_DB": str(rooftile.folder / "some.db"),
                           "ROOFTILE_DEVICE": "llvm"}


@needs_native_python
def test_a_precision_becomes_environment_and_its_scope_is_reported_once(rooftile):
    for words, environment in [(["--precision", "exact64"], {}), ([], {"ROOFTILE_PRECISION": "exact64"})]:
        run = rooftile.run("run", *words, "--", sys.executable, "-c", SHOW, **environment)
        assert shown(run)[1]["ROOFTILE_PRECISION"] == "exact64"
        assert run.stderr.startswith("rooftile: precision exact64 holds for sgemm") and run.stderr.count("\n") == 1
    assert rooftile.run("run", "--precision", "exact64", "--", "true", ROOFTILE_LOG="off").stderr == ""
    for precision in ("standard", "half"):
        assert rooftile.run("run", "--precision", precision, "--", "true").stderr == ""
    assert rooftile.run("run", "--tier", "host64", "--", "true").stderr.startswith("rooftile: precision exact64 holds for sgemm")
    assert rooftile.run("run", "--tier", "host64", "--precision", "standard", "--", "true").stderr == ""
    rooftile.refuses("run", "--precision", "best", "--", "true", code=2, says="best")


def test_what_is_preloaded_already_stays(rooftile):
    preload = shown(rooftile.run("run", "--", sys.executable, "-c", SHOW, LD_PRELOAD="libm.so.6"))[1]["LD_PRELOAD"]
    assert preload.startswith("libm.so.6:/")


@pytest.fixture
def moved(rooftile):
    """Installs Rooftile in a folder whose name the loader would split into several."""
    build, folder = pathlib.Path(PROGRAM).parent, rooftile.folder / "my tools: new"
    (folder / "blas").mkdir(parents=True)
    shutil.copy2(PROGRAM, folder / "rooftile")
    shutil.copy2(build / "blas" / "librooftile_preload.so", folder / "blas")
    for library in build.glob("librooftile.so*"):
        shutil.copy2(library, folder, follow_symlinks=False)

    def run(*arguments, code=0, **environment):
        result = subprocess.run([folder / "rooftile", *arguments], env=dict(rooftile.environment, **environment), text=True,
                                capture_output=True, timeout=60)
        assert result.returncode == code, result
        return result
    run.library = folder / "blas" / "librooftile_preload.so"
    return run


@needs_native_python
def test_folder_with_a_space_is_reached_by_a_link(rooftile, moved):
    for _ in range(2):  # The second run finds the existing link.
        preload = pathlib.Path(shown(moved("run", "--", sys.executable, "-c", SHOW))[1]["LD_PRELOAD"])
        assert preload == rooftile.folder / ".cache" / "rooftile" / "preload" / preload.parent.name / "librooftile_preload.so"
        assert preload.resolve() == moved.library
        assert preload.parent.stat().st_mode & 0o777 == 0o700
    code = "import numpy as np; x = np.ones((300, 300), 'f4'); assert (x @ x == 300).all()"
    assert "300x300x300 nn f32: host" in moved("run", "--", "/usr/bin/python3", "-c", code, ROOFTILE_LOG="decisions").stderr


def test_link_goes_where_the_path_has_no_space(rooftile, moved, tmp_path):
    spaced, runtime = str(tmp_path / "a b"), tmp_path / "runtime"
    runtime.mkdir()
    where = shown(moved("run", "--", sys.executable, "-c", SHOW, ROOFTILE_CACHE=spaced, XDG_RUNTIME_DIR=str(runtime)))[1]["LD_PRELOAD"]
    assert pathlib.Path(where).is_relative_to(runtime / "rooftile-preload")


def test_folder_that_others_may_write_to_is_not_used(rooftile, moved, tmp_path):
    (tmp_path / "cache" / "preload").mkdir(parents=True)
    (tmp_path / "cache" / "preload").chmod(0o777)
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    where = shown(moved("run", "--", sys.executable, "-c", SHOW, ROOFTILE_CACHE=str(tmp_path / "cache"),
                        XDG_RUNTIME_DIR=str(runtime)))[1]["LD_PRELOAD"]
    assert pathlib.Path(where).is_relative_to(runtime)


def test_library_that_is_not_there_is_exit_code_126(rooftile, moved):
    moved.library.unlink()
    assert "install Rooftile again" in moved("run", "--", "true", code=126).stderr


@pytest.mark.parametrize("code", [0, 1, 42])
def test_exit_code_is_the_programs(rooftile, code):
    rooftile.run("run", "--", "sh", "-c", f"exit {code}", code=code)


def test_what_cannot_be_run(rooftile):
    rooftile.refuses("run", "--", "no-such-program", code=127, says="cannot run no-such-program: No such file")
    rooftile.refuses("run", "--", "/dev/null", code=126, says="cannot run /dev/null: Permission denied")
    rooftile.refuses("run", code=2, says="the program is missing")
    rooftile.refuses("run", "--tier", "moon", "--", "true", code=2, says="moon")


def test_a_blas_that_cannot_be_loaded_is_refused_before_the_program_starts(rooftile):
    rooftile.refuses("run", "--", "true", code=2, says="ROOFTILE_BLAS names a library that cannot be used.*unset",
                     ROOFTILE_BLAS="/nothere.so")
