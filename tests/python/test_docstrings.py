"""The examples in docstrings are right, every public name has a docstring, and types are complete."""
import ast
import doctest
import importlib
import os
import pathlib
import pkgutil
import shutil
import subprocess

import pytest
import rooftile

FOLDER = pathlib.Path(rooftile.__file__).parent
MODULES = ["rooftile", *(f"rooftile.{module.name}" for module in pkgutil.iter_modules([str(FOLDER)]))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_right(name):
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


def test_public_names_are_described():
    for name in rooftile.__all__:
        thing = getattr(rooftile, name)
        assert thing.__doc__, name
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            if not member.startswith("_") and callable(value):
                assert value.__doc__, f"{name}.{member}"


def test_no_module_needs_itself():
    """Over the imports of a file, wherever they stand in it."""
    needs = {file.stem: {name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom) and node.level
                         for name in ([node.module] if node.module else [alias.name for alias in node.names])}
             for file in FOLDER.glob("*.py")}
    while free := [name for name, needed in needs.items() if not needed & needs.keys()]:
        for name in free:
            del needs[name]
    assert not needs


def test_the_syntax_is_that_of_python_3_9():
    for file in FOLDER.glob("*.py"):
        ast.parse(file.read_text(), feature_version=(3, 9))


@pytest.mark.skipif("ROOFTILE_INSTALLED" in os.environ, reason="the source tree's test")
def test_mypy_finds_nothing(tmp_path):
    mypy = shutil.which("mypy", path="/usr/bin")
    assert mypy, "mypy is not installed (package mypy)"
    done = subprocess.run([mypy, "--strict", "--python-version", "3.9", "--cache-dir", str(tmp_path), str(FOLDER)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
