"""The package of the source tree over the library that ROOFTILE_LIBRARY names, or an installed one (ROOFTILE_INSTALLED)."""
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
if "ROOFTILE_INSTALLED" not in os.environ:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

# Of programs that a script starts in the background, shells let Ctrl-C be ignored, which tests and what they start would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
