"""The package of the source tree over the library that ROOFTILE_LIBRARY names, or an installed one (ROOFTILE_INSTALLED)."""
import contextlib
import os
import pathlib
import signal
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
if "ROOFTILE_INSTALLED" not in os.environ:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

# Of programs that a script starts in the background, shells let Ctrl-C be ignored, which tests and what they start would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def long_product():
    """A context in which another thread computes a product of the session in the short way, for 0.1 s or more."""
    @contextlib.contextmanager
    def begun(session):
        import numpy
        a, found = numpy.ones((2500, 2500), "float32"), []
        multiply = session.plain()
        thread = threading.Thread(target=lambda: found.append(multiply(a, a, None)))
        thread.start()
        while not session._plain._known.running:
            assert thread.is_alive()
        yield
        thread.join()
        assert (found[0] == 2500).all()

    return begun
