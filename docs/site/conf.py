"""Sphinx: sources are what generate.py writes. The site works from file://, so that
everything it loads is in it."""

import os
import re

with open(os.path.join(os.path.dirname(__file__), "../../include/ease.h")) as header:
    text = header.read()
release = version = ".".join(re.search(rf"#define EASE_VERSION_{part} (\d+)", text)[1]
                             for part in ("MAJOR", "MINOR", "PATCH"))
project = "ease"
html_title = f"ease {release}"
copyright = "the authors of ease, MIT license"  # a name that Sphinx wants

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
language = "en"
smartquotes = False  # options have two hyphens

myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88  # longer ones: a line for each parameter
napoleon_google_docstring = False

pygments_style = "friendly"
pygments_dark_style = "monokai"
highlight_language = "text"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sourcelink = False

copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
