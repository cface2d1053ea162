"""The progress of `rooftile tune`, shown by tqdm where it is installed, so also in notebooks."""
import importlib
import os
import re
import sys
from typing import Any, Callable, Union

Progress = Union[bool, Callable[[float, str], None]]

_COLUMNS = 20
_USUAL = 80  # of a terminal that does not say
SHOWN = re.compile(r"([01]\.\d\d)\t(.*)")  # a share and a text, as ProgressBar of cli/ writes them for this package


def columns() -> int:
    """Columns of the terminal that stderr is, or of a notebook's output; 0 where stderr is a file or a pipe."""
    stream = sys.stderr
    if not _is_terminal(stream):
        return _USUAL if type(stream).__module__.startswith("ipykernel") else 0
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _USUAL
    except (OSError, ValueError, AttributeError):
        return _USUAL


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty()) and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
    except (AttributeError, ValueError):  # none, or closed
        return False


class Bar:
    """Shows a share and a text, on a terminal or in a notebook only. progress: False shows nothing; a function is called with both
    instead, wherever stderr goes."""

    def __init__(self, progress: Progress) -> None:
        self._call = progress if callable(progress) else None
        self._tqdm: Any = None
        self._width = 0
        self._line = ""
        self._on = bool(progress) and (self._call is not None or columns() > 1)
        if self._on and self._call is None:
            try:
                tqdm = importlib.import_module("tqdm.auto").tqdm
            except ImportError:
                return
            self._tqdm = tqdm(total=100, unit="%", bar_format="{l_bar}{bar}| {elapsed} {postfix}", dynamic_ncols=True)

    def show(self, share: float, text: str) -> None:
        if self._call is not None:
            self._call(share, text)
        elif self._tqdm is not None:
            self._tqdm.n = round(100 * share)
            self._tqdm.set_postfix_str(text)
        elif self._on:
            filled = int(share * _COLUMNS)
            line = f"{share:4.0%} |{'#' * filled}{'.' * (_COLUMNS - filled)}| {text}"[:max(columns() - 1, 1)]
            if line != self._line:
                sys.stderr.write("\r" + line.ljust(self._width))
                sys.stderr.flush()
            self._line, self._width = line, len(line)

    def close(self) -> None:
        if self._tqdm is not None:
            self._tqdm.close()
        elif self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
