"""The `rooftile` program: that of the wheel or bundle around the package, or an installed one."""
import os
import shutil
import sys
from typing import Any, List, NoReturn, Sequence

from ._library import bundled
from .errors import INVALID_ARGUMENT, Error, InvalidArgument


def program() -> str:
    """Path of the program: $ROOFTILE_PROGRAM, else the bundled one, else one on $PATH. Errors: Error."""
    named = os.environ.get("ROOFTILE_PROGRAM")
    if named:
        if shutil.which(named) is None:
            raise Error(f"ROOFTILE_PROGRAM names {named}, which is no program that can be started")
        return named
    folder = bundled()
    if folder is not None:
        own = os.path.join(os.path.dirname(folder), "bin", "rooftile")
        if os.access(own, os.X_OK):
            return own
    found = shutil.which("rooftile")
    if found is None:
        raise Error("the program rooftile is not installed; install the wheel or the package rooftile, or name it in "
                    "ROOFTILE_PROGRAM")
    return found


def run(*arguments: str) -> str:
    """What a command prints on stdout. Errors: ValueError where the command line is wrong (exit code 2), else Error."""
    import subprocess
    done = subprocess.run([program(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise failure(done.returncode, done.stderr.decode(errors="replace"))
    return done.stdout.decode(errors="replace")


def failure(code: int, stderr: str) -> Error:
    """The exception for a command that has ended with this exit code and these messages."""
    message = stderr.strip() or f"the program rooftile ended with exit code {code}"
    return InvalidArgument(message, INVALID_ARGUMENT) if code == 2 else Error(message)


def about(argument: str, file: str, error: Error, items: Sequence[Any] = ()) -> Error:
    """The exception for a command that has found something wrong in a file that was made of this argument, with a line for each of
    its items behind the header."""
    _, found, reason = str(error).partition(file + ":")
    if not found:
        return error
    line, colon, of_line = reason.strip().partition(": ")
    if items and colon and line.isdecimal():
        return InvalidArgument(f"{argument} has {items[int(line) - 2]!r}; {of_line}", INVALID_ARGUMENT)
    return InvalidArgument(f"{argument}: {reason.strip()}", INVALID_ARGUMENT)


def main() -> NoReturn:
    """The command `rooftile` of a wheel: becomes the program."""
    arguments: List[str] = ["rooftile", *sys.argv[1:]]
    folder = bundled()
    if folder is None:
        sys.exit("rooftile: this installation of the Python package has no program")
    os.execv(os.path.join(os.path.dirname(folder), "bin", "rooftile"), arguments)
