"""How bin/docs builds this directory into a site that asks nothing of any other host."""

import re
from pathlib import Path

project = "Loyalty platform"
author = "the authors of the loyalty platform"
project_copyright = "the authors of the loyalty platform. Place data (c) GeoNames, CC BY 4.0"
html_title = project
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["languages.js"]
html_copy_source = False
html_show_sphinx = False
templates_path = []

extensions = ["myst_parser"]
# Headings are linked to as on the web pages of Git hosts, so that the files read well in both places.
myst_heading_anchors = 4
exclude_patterns = ["client", "operations/systemd", "operations/*.json"]
nitpicky = True
# Examples are JSON with dots in them, settings and plain text: none is worth a warning for colours' sake.
# A page may be linked to without standing in the menu.
suppress_warnings = ["misc.highlighting_failure", "toc.not_included"]
highlight_language = "none"
pygments_style = "default"
html_logo = html_favicon = "../portal/static/portal/mark.svg"
html_theme_options = {
    "sidebar_hide_name": False,
    "light_css_variables": {"color-brand-primary": "#086e87", "color-brand-content": "#04576c"},
    "dark_css_variables": {"color-brand-primary": "#4eb8da", "color-brand-content": "#84d1ec"},
}


def setup(app):
    """Links to what is no page of the site stay links on Git hosts; here they are the path, to be looked up."""
    app.connect("source-read", _name_what_is_no_page)


def _name_what_is_no_page(app, docname, source):
    here = Path(app.srcdir, docname).parent

    def named(found):
        target = (here / found[2].partition("#")[0]).resolve()
        root = Path(app.srcdir).parent
        is_page = target.suffix == ".md" and target.is_relative_to(app.srcdir)
        if not target.exists() or is_page or (target.is_file() and target.suffix != ".md"):
            return found[0]
        return f"{found[1]} (`{target.relative_to(root)}`)" if "`" not in found[1] else f"`{target.relative_to(root)}`"

    source[0] = re.sub(r"(?<!!)\[([^\[\]]+)\]\((?![a-z]+:|#)([^()\s]+)\)", named, source[0])
