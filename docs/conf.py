"""Sphinx configuration of the documentation: ``sphinx-build -W -b html docs OUT``."""

import tempfile
from importlib.metadata import version as installed_version
from pathlib import Path

import vmmetrics

project = "vmmetrics"
author = "The vmmetrics authors"
copyright = author  # noqa: A001 - Sphinx reads this name
release = installed_version("vmmetrics")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["notebooks"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = f"vmmetrics {release}"


def _escape_bars(_app, _what, _name, _obj, _options, lines):
    """Escape ``|x|`` in docstrings, which is an absolute value there and a substitution in reStructuredText."""
    lines[:] = [line.replace("|", "\\|") for line in lines]


def _write_example(app, failure):
    """Score the sample clips and write their report to ``example/``."""
    if failure is not None or app.builder.format != "html":
        return
    samples = Path(__file__).parents[1] / "tests" / "data" / "samples"
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "samples"
        vmmetrics.score(samples, out=run, jobs=2)
        vmmetrics.write_report(run, Path(app.outdir) / "example", media="copy", title="Eight sample clips")


def setup(app):
    """Connect what changes docstrings before they are parsed, and the example report."""
    app.connect("autodoc-process-docstring", _escape_bars, priority=900)
    app.connect("build-finished", _write_example)
