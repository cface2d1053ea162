"""Finds and loads librooftile.so, once for the process and not before it is needed."""
import ctypes
import os
import re
import threading
from typing import Optional

from . import _abi
from .errors import Error, error_of

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
NAME = "librooftile.so.0"

_lock = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None


def _renew_lock() -> None:
    """In a forked child: the thread that held the lock is not there."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


def bundled() -> Optional[str]:
    """The folder that holds the library and all that it needs: of a wheel, or of a bundle that lies where scripts/bundle has put
    it. None where the distribution's or the caller's library is used."""
    for folder in (os.path.join(_PACKAGE, "_bundle", "lib"), os.path.normpath(os.path.join(_PACKAGE, "..", "..", ".."))):
        if os.path.exists(os.path.join(folder, NAME)):
            return folder
    return None


def path() -> str:
    """What is loaded: $ROOFTILE_LIBRARY, else the bundled library, else whatever the loader finds."""
    folder = bundled()
    return os.environ.get("ROOFTILE_LIBRARY") or (os.path.join(folder, NAME) if folder else NAME)


def _load(name: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        # The machine's libstdc++ comes first, because its Vulkan driver may need it. The bundle's is for machines where it is
        # missing or older.
        fallback = os.path.join(os.path.dirname(name), "fallback")
        if not os.path.exists(fallback) or not any(word in str(error) for word in ("libstdc++", "libgcc_s", "GLIBCXX", "CXXABI")):
            raise
        for library_name in ("libgcc_s.so.1", "libstdc++.so.6"):
            ctypes.CDLL(os.path.join(fallback, library_name), mode=ctypes.RTLD_GLOBAL)
        return ctypes.CDLL(name)


def _machine() -> str:
    import platform
    libc = " ".join(platform.libc_ver()).strip() or "another libc"
    return f"{platform.system()} on {platform.machine()} with {libc}"


def library() -> ctypes.CDLL:
    """The library. Errors: Error, which says what is missing and what to do. Thread-safe."""
    global _loaded
    if _loaded is not None:
        return _loaded
    with _lock:
        if _loaded is None:
            name = path()
            try:
                loaded = _load(name)
                _abi.declare(loaded)
            except AttributeError as error:
                raise Error(f"{name} is of another version than this package, which lies in {_PACKAGE}: {error}") from error
            except OSError as error:
                remedy = ("install the wheel or the package librooftile0, or name the library in ROOFTILE_LIBRARY"
                          if bundled() is None or "ROOFTILE_LIBRARY" in os.environ else
                          "build Rooftile on this machine, and name its library in ROOFTILE_LIBRARY")
                raise Error(f"{name} cannot be loaded: {error}. It needs Linux on x86-64 with glibc 2.36 or newer, and this is "
                            f"{_machine()}; {remedy}") from error
            _loaded = loaded
        return _loaded


def last_error(lib: ctypes.CDLL) -> str:
    """The library's message in this package's words: its contexts are sessions, and its structures are not seen here."""
    message: bytes = lib.rooftile_last_error()
    return re.sub(r"^\w+->", "", re.sub(r"(?<= )context(?=[ ,:;)]|$)", "session", message.decode(errors="replace")))


def check(lib: ctypes.CDLL, status: int) -> None:
    """Raises the exception of a status that is not 0. To be called by the thread that made the call."""
    if status != 0:
        raise error_of(status, last_error(lib))


def check_product(lib: ctypes.CDLL, status: int) -> None:
    """The same for a product, whose C is the caller's out."""
    if status != 0:
        said = re.sub("^c overlaps ", "out overlaps ", last_error(lib))
        raise error_of(status, said.replace("two matrices C of the batch overlap", "two matrices of out overlap"))


def version() -> str:
    """Version of the loaded library.

    >>> version()
    '0.1.0'
    """
    text: bytes = library().rooftile_version()
    return text.decode()
