"""What is published besides the service: pages without broken links, an API description that matches the code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import openapi

ROOT = Path(__file__).parent.parent.parent
sys.path.append(str(ROOT / "bin"))

from published import links, site  # noqa: E402
from published import openapi as published_openapi  # noqa: E402

# --- Pages -----------------------------------------------------------------------------------------------------------


def test_pages_have_no_broken_links():
    assert [complaint for file in links.markdown_files() for complaint in links.broken(file)] == []


def test_every_picture_is_shown_on_a_page():
    page_texts = "".join(page.read_text() for page in (ROOT / "docs").rglob("*.md"))

    assert [
        picture.name for picture in (ROOT / "docs/images").iterdir() if f"images/{picture.name}" not in page_texts
    ] == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[a](there.md)", None),
        ("[a](there.md#a-place)", None),
        ("[a](there.md#a-place-1)", None),
        ("[a](#here)\n\n# Here", None),
        ("[a](https://example.com/x)", None),
        ("![a](gone.png)", "no such file: gone.png"),
        ('<img alt="" src="gone.png">', "no such file: gone.png"),
        ("[a](gone.md)", "no such file: gone.md"),
        ("[a](there.md#gone)", "no such heading: there.md#gone"),
        ("[a](../../etc/passwd)", "leads out of the repository: ../../etc/passwd"),
        ("see `code/there.py`", None),
        ("see `code/gone.py`", "no such path: code/gone.py"),
        ("```\n[a](gone.md)\n```", None),
        ("`[a](gone.md)`", None),
    ],
)
def test_broken_links_of_a_page_are_reported(tmp_path, text, complaint):
    (tmp_path / "there.md").write_text("# A place\n\n# A place\n")
    (tmp_path / "code").mkdir()
    (tmp_path / "code/there.py").touch()
    page = tmp_path / "page.md"
    page.write_text(text)

    complaints = list(links.broken(page, root=tmp_path))

    assert complaints == ([f"page.md:1: {complaint}"] if complaint else [])


def test_site_is_built_without_warnings_and_loads_from_no_other_host(tmp_path):
    build = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "-n", "-q", "-d", str(tmp_path / "cache")]

    build += [str(ROOT / "docs"), str(tmp_path / "site")]

    result = subprocess.run(build, check=False, capture_output=True, text=True)

    assert (result.returncode, result.stderr) == (0, "")
    assert list(site.faults(tmp_path / "site")) == []


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ('<a href="there.html#place">x</a><a href="https://example.com">y</a>', None),
        ('<a href="gone.html">x</a>', "leads nowhere: gone.html"),
        ('<a href="there.html#gone">x</a>', "no such place: there.html#gone"),
        (
            '<script src="https://cdn.example.com/x.js"></script>',
            "loads from another host: https://cdn.example.com/x.js",
        ),
        ('<link rel="stylesheet" href="//fonts.example.com/x">', "loads from another host: //fonts.example.com/x"),
    ],
)
def test_faults_of_a_site_are_reported(tmp_path, body, complaint):
    (tmp_path / "there.html").write_text('<p id="place">x</p>')
    (tmp_path / "page.html").write_text(body)

    assert list(site.faults(tmp_path)) == ([f"page.html: {complaint}"] if complaint else [])


def test_font_from_another_host_in_a_stylesheet_is_reported(tmp_path):
    (tmp_path / "x.css").write_text("a { background: url(own.png) } @import 'https://fonts.example.com/css';")

    assert list(site.faults(tmp_path)) == ["x.css: loads from another host: https://fonts.example.com/css"]


# --- The description -------------------------------------------------------------------------------------------------


def test_saved_description_matches_the_code():
    assert json.loads(published_openapi.FILE.read_text()) == openapi.generate(), (
        "The API has changed: run `bin/docs openapi`."
    )
