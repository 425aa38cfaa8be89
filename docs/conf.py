"""Configuration of the documentation: ``make docs``."""

import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder

import halfseen

project = "halfseen"
author = "the halfseen developers"
copyright = "2026, the halfseen developers"
version = release = halfseen.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxext.opengraph",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "gallery/**/*.ipynb"]
smartquotes = False  # quotes in text are often quotes of code

myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Prompts are not copied, nor what a command prints: all lines of a console block but those that begin with "$ ".
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

# MathJax is a file of the site, so that formulas need no network. A package of the docs layer ships it.
MATHJAX = "tex-svg.js"
mathjax_path = MATHJAX

# ---- the look of the site ------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"halfseen {version}"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["halfseen.css"]
html_show_sourcelink = False
html_sidebars = {"index": [], "choose": [], "changes": [], "glossary": []}
html_theme_options = {
    "logo": {"text": "halfseen"},
    "navbar_start": ["navbar-logo", "version"],
    "header_links_before_dropdown": 5,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "start": [], "guides": [], "formulas": []},
    "show_nav_level": 1,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}

# What other sites show of a link to a page. The address of the site is that of whoever publishes it.
ogp_site_url = os.environ.get("SITE_URL", "https://halfseen.github.io/halfseen/")
ogp_image = "_static/social_card.png"
ogp_image_alt = "halfseen: find hidden groups in your data, even with missing values"
ogp_social_cards = {"enable": False}

# ---- the gallery: every script in examples/ is run and becomes a page and a notebook ---------------------------------

# One real analysis of each family, then other uses, then what is inside.
TOUR = [
    "penguins.py",
    "votes.py",
    "digits.py",
    "earthquakes.py",
    "titanic.py",
    "few_labels.py",
    "costs_with_reject.py",
    "text_with_few_labels.py",
    "transcript_alignment.py",
    "word_alignment.py",
    "grammar_from_trees.py",
    "medical_records.py",
    "customers.py",
    "machine_states.py",
    "gaussian_mixture.py",
    "network_with_missing_values.py",
    "overdispersed_counts.py",
    "known_parameters.py",
    "soft_hard_sample.py",
    "mixture_animation.py",
    "em_by_hand.py",
    "em_and_gradient.py",
]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "matplotlib_animations": True,
    "remove_config_comments": True,
    "capture_repr": (),  # what is printed and drawn, not the value of the last line
    "show_memory": False,
    "within_subsection_order": ExplicitOrder([*TOUR, "*"]),
    "abort_on_example_error": True,
    "write_computation_times": False,
}


def skip_routing(app, what, name, member, skip, options):
    """Leave out set_fit_request and its kin, which scikit-learn adds to every estimator."""
    return True if name.endswith("_request") or name in ("get_metadata_routing", "set_output") else None


def copy_mathjax(app):
    """Put MathJax among the static files of the site."""
    if app.builder.format == "html":
        package = Path(find_spec("sphinx-mathjax-offline").origin).parent
        static = Path(app.outdir, "_static")
        static.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(package / "static" / "mathjax" / MATHJAX, static / MATHJAX)


def keep_to_the_site(app, pagename, templatename, context, doctree):
    """Leave out the style sheet that matplotlib's animations load from another site: the theme has these icons."""
    if "body" in context:
        context["body"] = re.sub(
            r'<link rel="stylesheet"\s+href="https://[^"]*font-awesome[^"]*">', "", context["body"]
        )


def setup(app):
    app.connect("html-page-context", keep_to_the_site)
    app.connect("autodoc-skip-member", skip_routing)
    app.connect("builder-inited", copy_mathjax)
