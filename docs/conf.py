"""Configuration of the documentation: ``make docs``."""

from pathlib import Path

import halfseen

project = "halfseen"
author = "the halfseen developers"
copyright = "2026, the halfseen developers"
version = release = halfseen.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "gallery/**/*.ipynb"]

myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "halfseen"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False, "header_links_before_dropdown": 8}
FULL_WIDTH = ("tutorial", "faq", "architecture", "formulas", "contributing", "changes")
FULL_WIDTH += ("bayes_decisions", "soft_or_hard", "nan_or_stuck", "em_by_numbers")
html_sidebars = {page: [] for page in FULL_WIDTH}
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["halfseen.css"]
smartquotes = False  # quotes in text are often quotes of code

# Every script in examples/ is run and becomes a page; the tour goes from use to inside.
TOUR = [
    "penguins.py",
    "few_labels.py",
    "known_parameters.py",
    "soft_hard_sample.py",
    "mixture_animation.py",
    "em_by_hand.py",
    "em_and_gradient.py",
]

if any(Path(__file__).parent.parent.glob("examples/*.py")):
    from sphinx_gallery.sorting import ExplicitOrder

    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": "../examples",
        "gallery_dirs": "gallery",
        "filename_pattern": r"\.py$",
        "download_all_examples": False,
        "matplotlib_animations": True,
        "show_memory": False,
        "within_subsection_order": ExplicitOrder([*TOUR, "*"]),
        "abort_on_example_error": True,
        "write_computation_times": False,
    }


def skip_routing(app, what, name, member, skip, options):
    """Leave out set_fit_request and its kin, which scikit-learn adds to every estimator."""
    return True if name.endswith("_request") or name in ("get_metadata_routing", "set_output") else None


def setup(app):
    app.connect("autodoc-skip-member", skip_routing)
