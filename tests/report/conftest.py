"""Fixtures: the program in a home folder of its own, as in tests/cli, and databases of simulated machines."""
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

# pytest accepts one conftest per folder, so the helpers of tests/cli are loaded by path.
_spec = importlib.util.spec_from_file_location("cli_conftest", pathlib.Path(__file__).parents[1] / "cli" / "conftest.py")
cli = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cli)
SOURCE = cli.SOURCE
NASTY = """<script>alert("x")</script> & "quotes'"""


class Reporter(cli.Rooftile):
    def simulate(self, *options, database=None):
        subprocess.run([os.environ["ROOFTILE_MAKE_DATABASE"], database or self.database, *map(str, options)], check=True)


@pytest.fixture
def rooftile(tmp_path):
    return Reporter(tmp_path)
