"""The programs that the tests of the page use; tests are skipped where scripts/build-web has not run."""
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

PROGRAM = os.environ["ROOFTILE_PROGRAM"]
ASSETS = pathlib.Path(PROGRAM).parent / "web-assets"
WEB_TOOLS = pathlib.Path(__file__).parents[2] / "scripts" / "web-tools"
ENGINE_ANSWERS = os.environ["ROOFTILE_ENGINE_ANSWERS"]


def need_assets():
    if not (ASSETS / "engine.wasm").exists():
        pytest.skip("the page's engine is not built: run scripts/build-web")
    if subprocess.run([WEB_TOOLS, "path"], capture_output=True).returncode != 0:
        pytest.skip("node is not set up: run scripts/build-web")


def rooftile(*arguments, **more):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, **more)
