"""`%load_ext rooftile` in IPython and Jupyter: `%rooftile` shows the roofline chart of the tuning database inline."""
import os
from typing import Any, Optional

from ._program import run
from .errors import Error

CHARTS = ("roofline", "gains", "problem", "search", "waves", "map", "boundary", "calibration")


class Chart:
    """A chart of `rooftile report --html`, which needs no network. Notebooks show it; str() says what it is."""

    def __init__(self, page: str, name: str) -> None:
        # The other sections are not shown, and the page fills the frame.
        style = f"nav, section:not(#{name}), .skip {{ display: none !important }}\n</style>"
        self.name, self.page = name, page.replace("</style>", style, 1)

    def _repr_html_(self) -> str:
        import html
        return (f'<iframe title="Rooftile: {self.name}" srcdoc="{html.escape(self.page)}" width="100%" height="640" '
                'style="border: 0"></iframe>')

    def __repr__(self) -> str:
        return f"<the chart '{self.name}' of rooftile report; a notebook shows it>"


def chart(name: str = "roofline", database: Optional[str] = None, device: Optional[str] = None) -> Chart:
    """A chart of the report, for notebooks: "roofline", "gains", "problem", "search", "waves", "map", "boundary" or "calibration".

    Errors: ValueError for other names, Error where nothing is tuned.
    """
    import tempfile
    if name not in CHARTS:
        raise ValueError(f"the chart is {name!r}; it is one of {', '.join(CHARTS)}")
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "report.html")
        run("report", "--html", page, *(["--db", database] if database else []), *(["--device", device] if device else []))
        with open(page, encoding="utf-8") as file:
            return Chart(file.read(), name)


def load_ipython_extension(ipython: Any) -> None:
    """For `%load_ext rooftile`: registers the magic `%rooftile [CHART]`, which shows a chart of the report (default: roofline)."""
    def rooftile(line: str) -> Optional[Chart]:
        """%rooftile [CHART]: shows a chart of the tuning database: roofline (default), gains, problem, search, waves, map,
        boundary or calibration."""
        try:
            return chart(line.strip() or "roofline")
        except (Error, ValueError) as error:
            print(error)
            return None

    ipython.register_magic_function(rooftile, "line", "rooftile")


def unload_ipython_extension(ipython: Any) -> None:
    """For `%unload_ext rooftile`."""
    ipython.magics_manager.magics["line"].pop("rooftile", None)
