"""The site of docs/: Sphinx reads the same Markdown that a reader of the repository sees. `./dev docs` builds it."""
import pathlib
import re

project = "Fathom"
root = pathlib.Path(__file__).resolve().parents[2]
version = re.search(r'^version = "(.*)"', (root / "pyproject.toml").read_text(), re.M)[1]
project_copyright = "the authors of Fathom; Apache-2.0 with the LLVM exception"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["site"]
html_theme = "furo"
html_title = f"Fathom {version}"
html_show_sphinx = False
myst_heading_anchors = 4
autodoc_typehints = "description"
autodoc_member_order = "bysource"
copybutton_exclude = ".linenos, .gp, .go"
# A block without a language is what a command prints.
highlight_language = "none"


def setup(app):
    """Links to sources are text here: the site has the pages of docs/ only, and their pictures."""

    def keep_links_to_pages(app, docname, source):
        path = root / "docs" / f"{docname}.md"

        def is_page(target):
            file = (path.parent / target.split("#")[0]).resolve()
            return target.startswith(("http", "#")) or (file.suffix == ".md" and file.is_relative_to(root / "docs"))

        if path.exists():
            source[0] = re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", lambda link: link[0] if is_page(link[2]) else link[1], source[0])

    app.connect("source-read", keep_links_to_pages)
