"""How Sphinx builds the site: ``make docs``."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import dualtape

project = "dualtape"
author = "The dualtape authors"
version = release = dualtape.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
autosummary_generate = False  # tools.site writes the pages
autodoc_typehints = "none"
napoleon_google_docstring = False
html_theme = "pydata_sphinx_theme"
html_title = "dualtape"
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "navigation_depth": 2,
    "collapse_navigation": True,
}
html_sidebars = {page: [] for page in ("index", "_generated/examples", "_generated/ops/*")}  # they have nothing beside
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False


def _raw(name):
    """What tools.site drew, in the middle of a page."""
    return f"```{{raw}} html\n:file: _generated/{name}.html\n```\n\n"


def _inside(app, docname, source):
    """Links that lead out of this folder, for readers of the files, lead to what the site has instead."""
    prefix = "../" * docname.count("/")
    for outside, page in {"../../examples/README.md": "_generated/examples.md", "../README.md": "index.md"}.items():
        source[0] = source[0].replace(f"]({outside})", f"]({prefix}{page})")
    if docname == "tools":  # readers of the file have no browser: here is what a page of a graph can do
        shown = f"The page of a network of 300 nodes, as `save` writes it:\n\n{_raw('graph')}## What memory is kept"
        source[0] = source[0].replace("## What memory is kept", shown)
    if docname == "index":
        source[0] = source[0].replace("- **New here?**", f"{_raw('front')}- **New here?**")
    source[0] = re.sub(
        r"\[([^\]]+)\]\((?:\.\./)+(?:benchmarks|src|tests|tools|CHANGELOG|LICENSE)[^)]*\)", r"\1", source[0]
    )


def setup(app):
    app.connect("source-read", _inside)
