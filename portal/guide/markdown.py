"""The guide's Markdown as HTML: CommonMark with tables, as docs/ uses it. HTML in a text is shown as text.

Links to other pages of the guide stay in the portal; those to a page that it does not have, such as the API's, are
plain text.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

Resolve = Callable[[str], str]  # where a link or a picture of the text leads to here; empty: nowhere

PARSER = MarkdownIt("commonmark", {"html": False}).enable("table")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of the page, and the name by which links lead to it."""

    title: str
    slug: str
    level: int


@dataclass(frozen=True, slots=True)
class RenderedText:
    sections: list[Section]
    html: SafeString


def slug_of(title: str) -> str:
    """As documentation sites name a heading in an address."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def sections_of(text: str) -> list[Section]:
    return [section for _opening, section in _headings(PARSER.parse(text))]


def render(text: str, *, link: Resolve, picture: Resolve) -> RenderedText:
    tokens = PARSER.parse(text)
    headings = list(_headings(tokens))
    for opening, section in headings:
        opening.attrSet("id", section.slug)
    for token in tokens:
        if token.tag == "h1":
            token.tag = "h2"  # the page's own title is the portal's heading
        elif token.type == "th_open":
            token.attrSet("scope", "col")
        for child in token.children or ():
            if child.type == "image":
                _lead_picture(child, picture)
        _lead_links(token.children or (), link)
    html = PARSER.renderer.render(tokens, PARSER.options, {})
    html = html.replace("<table>", '<div class="guide-table"><table>').replace("</table>", "</table></div>")
    return RenderedText([section for _opening, section in headings], mark_safe(html))  # noqa: S308 - the parser escapes


def _headings(tokens: list[Token]) -> Iterator[tuple[Token, Section]]:
    """The opening token of each heading, and its section."""
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            title = "".join(each.content for each in inline.children or ())
            yield opening, Section(title, slug_of(title), int(opening.tag[1]))


def _lead_picture(image: Token, picture: Resolve) -> None:
    if address := picture(str(image.attrGet("src"))):
        image.attrSet("src", address)
        image.attrSet("loading", "lazy")
    else:
        image.type = "text"  # its content is the alternative text


def _lead_links(tokens: Sequence[Token], link: Resolve) -> None:
    """Links do not contain each other, so a closing token belongs to the opening one before it."""
    leads_somewhere = True
    for token in tokens:
        if token.type == "link_open":
            address = link(str(token.attrGet("href")))
            leads_somewhere = bool(address)
            token.attrSet("href", address)
        if token.type in ("link_open", "link_close"):
            token.hidden = not leads_somewhere
