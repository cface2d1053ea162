"""The `rooftile` program from Python: tuning in a child process, devices and reports."""
import os
from typing import IO, Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Union

from ._call import number_of
from ._program import about, failure, program, run
from ._progress import SHOWN, Bar, Progress
from ._shapes import size_of
from .errors import Error

_Path = Union[str, "os.PathLike[str]"]
Problem = Union[Sequence[int], Mapping[str, Any]]
_COLUMNS = ("m", "n", "k", "trans_a", "trans_b", "batch", "type", "epilogue", "groups", "skew", "note")


class Tuned(NamedTuple):
    """What a tuning run has printed: its table, and its warnings."""

    output: str
    messages: str


def _options(database: Optional[_Path], device: Optional[str]) -> List[str]:
    return [*(["--db", os.fspath(database)] if database is not None else []), *(["--device", device] if device is not None else [])]


def _row(problem: Problem) -> str:
    """A line of the CSV file of --shapes.

    >>> _row((8, 9, 10))
    '8,9,10,0,0,1,f32,,,,'
    >>> _row({"m": 1, "n": 4096, "k": 4096, "trans_b": True, "type": "f16", "groups": 64})
    '1,4096,4096,0,1,1,f16,,64,,'
    """
    if isinstance(problem, str) or not isinstance(problem, (Mapping, Sequence)):
        raise TypeError(f"shapes has {problem!r}; a problem is (m, n, k) or a dict")
    given: Dict[str, Any] = dict(problem) if isinstance(problem, Mapping) else dict(zip(_COLUMNS, problem))
    if not {"m", "n", "k"} <= set(given) or not set(given) <= set(_COLUMNS):
        raise ValueError(f"shapes has {problem!r}; a problem is (m, n, k) or a dict of m, n, k and any of {', '.join(_COLUMNS[3:])}")
    full: Dict[str, Any] = {"trans_a": 0, "trans_b": 0, "batch": 1, "type": "f32", **dict.fromkeys(("epilogue", "groups", "skew", "note"), ""),
                            **given}
    values = []
    for name in _COLUMNS:
        value = full[name]
        if name in ("type", "epilogue", "note"):
            if not isinstance(value, str) or any(c in value for c in ",\"\n"):
                raise ValueError(f"shapes has {problem!r}; {name} is a word without commas")
            values.append(value)
        elif name == "skew" and value != "":
            values.append(repr(number_of(f"shapes has {problem!r}; skew", value)))
        else:
            least = 1 if name in ("m", "n", "k", "batch") else 0
            values.append(value if value == "" else str(size_of(f"shapes has {problem!r}; {name}", value, least)))
    return ",".join(values)


def tune(shapes: Union[str, Iterable[Problem], None] = None, budget: Union[str, float] = "60s", progress: Progress = True, *,
         database: Optional[_Path] = None, device: Optional[str] = None) -> Tuned:
    """Tunes this machine's devices for problems in a child process, and lets rooftile.matmul use the result.

    shapes: (m, n, k) tuples, or dicts of m, n, k and trans_a, trans_b, batch, type ("f16xq4b32_f16"), epilogue ("bias_column+relu"),
      groups and skew (of matmul_grouped: how many groups, and how many times the mean the largest one is);
      or the name of a built-in set ("squares", "transformer", "llm", ...). Default: the default set.
    budget: wall time for a device, without the first calibration (about 15 s): "60s", "3m", "1h" or seconds.
    progress: a bar (tqdm's where it is installed), nothing (False), or a function of the share and a text.
    database, device: as for Session.

    Ctrl-C keeps what is measured and raises KeyboardInterrupt when the child has ended; the next run goes on from there.
    Errors: ValueError and TypeError for shapes or a budget that is not one, Error where nothing can be tuned.
    """
    import tempfile
    limit = budget if isinstance(budget, str) else f"{number_of('budget', budget):g}s"
    problems: List[Problem] = []
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["tune", "--budget", limit]
        file = os.path.join(folder, "shapes.csv")
        if isinstance(shapes, str):
            arguments += ["--set", shapes]
        elif shapes is not None:
            if not hasattr(shapes, "__iter__"):
                raise TypeError(f"shapes is a {type(shapes).__name__}; it is a list of problems, or the name of a set")
            problems = list(shapes)
            rows = [_row(problem) for problem in problems]
            if not rows:
                raise ValueError("shapes is empty")
            with open(file, "w", encoding="utf-8") as out:
                out.write("\n".join([",".join(_COLUMNS), *rows, ""]))
            arguments += ["--shapes", file]
        try:
            done = _run_showing([*arguments, *_options(database, device)], progress)
        except Error as error:
            raise about("shapes", file, error, problems) from None
    from ._default import renew
    renew()
    return done


class _LaterInterrupt:
    """Ctrl-C within the block raises nothing there; came says whether there was one."""

    def __enter__(self) -> "_LaterInterrupt":
        import signal
        import threading
        self.came = False
        self._keeps = (threading.current_thread() is threading.main_thread()
                       and signal.getsignal(signal.SIGINT) is signal.default_int_handler)
        if self._keeps:
            signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, *_: object) -> None:
        self.came = True

    def __exit__(self, *_: object) -> None:
        import signal
        if self._keeps:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _run_showing(arguments: List[str], progress: Progress) -> Tuned:
    """Runs the program, which writes lines of progress between its messages, and draws a bar."""
    import signal
    import subprocess
    import tempfile
    bar = Bar(progress)
    messages: List[str] = []
    with tempfile.TemporaryFile() as output:
        starting = _LaterInterrupt()
        try:
            # In a session of its own, so that Ctrl-C reaches it once, from here.
            with starting:
                child = subprocess.Popen([program(), *arguments], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE,
                                         start_new_session=True, env={**os.environ, "ROOFTILE_PROGRESS_LINES": "1"})
        except BaseException:
            bar.close()
            raise
        assert child.stderr is not None
        interrupted = starting.came
        try:
            if interrupted:
                child.send_signal(signal.SIGINT)
            while True:
                try:
                    _show_lines(child.stderr, bar, messages)
                    break
                except KeyboardInterrupt:
                    interrupted = True
                    child.send_signal(signal.SIGINT)
            code = child.wait()
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
            child.stderr.close()
            bar.close()
        output.seek(0)
        text = output.read().decode(errors="replace")
    if interrupted:
        raise KeyboardInterrupt
    if code != 0:
        raise failure(code, "\n".join([*messages, text]))
    return Tuned(text, "\n".join(messages))


def _show_lines(stderr: IO[bytes], bar: Bar, messages: List[str]) -> None:
    """Until the program has closed it."""
    for line in stderr:
        text = line.decode(errors="replace").strip()
        shown = SHOWN.fullmatch(text)
        if shown is not None:
            bar.show(float(shown[1]), shown[2])
        elif text:
            messages.append(text)


def devices(device: Optional[str] = None) -> List[Dict[str, Any]]:
    """The Vulkan devices of this machine, as `rooftile devices --json` has them; an empty list where there are none.

    >>> [{"name", "kind", "tuned_kernels"} <= set(found) for found in devices()][:1]
    [True]
    """
    import json
    found: List[Dict[str, Any]] = json.loads(run("devices", "--json", *_options(None, device)))["devices"]
    return found


def report(html: Optional[_Path] = None, *, database: Optional[_Path] = None, device: Optional[str] = None) -> Dict[str, Any]:
    """The results in the tuning database, as docs/report.schema.json describes them. html: also writes the page with charts there.

    Errors: Error where there is no database or the page cannot be written.
    """
    import json
    if html is not None:
        run("report", "--html", os.fspath(html), *_options(database, device))
    found: Dict[str, Any] = json.loads(run("report", "--json", *_options(database, device)))
    return found
