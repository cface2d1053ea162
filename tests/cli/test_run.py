"""`rooftile run`: the program's words, environment, output and exit code are its own."""
import json
import os
import sys

import pytest

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


def test_what_is_preloaded_already_stays(rooftile):
    preload = shown(rooftile.run("run", "--", sys.executable, "-c", SHOW, LD_PRELOAD="libm.so.6"))[1]["LD_PRELOAD"]
    assert preload.startswith("libm.so.6:/")


@pytest.mark.parametrize("code", [0, 1, 42])
def test_exit_code_is_the_programs(rooftile, code):
    rooftile.run("run", "--", "sh", "-c", f"exit {code}", code=code)


def test_what_cannot_be_run(rooftile):
    rooftile.refuses("run", "--", "no-such-program", code=127, says="cannot run no-such-program: No such file")
    rooftile.refuses("run", "--", "/dev/null", code=126, says="cannot run /dev/null: Permission denied")
    rooftile.refuses("run", code=2, says="which program")
    rooftile.refuses("run", "--tier", "moon", "--", "true", code=2, says="moon")
