"""The package of the source tree over the library that ROOFTILE_LIBRARY names, or an installed one (ROOFTILE_INSTALLED)."""
import os
import pathlib
import sys

if "ROOFTILE_INSTALLED" not in os.environ:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
