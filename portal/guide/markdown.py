"""The guide's Markdown as HTML: headings, paragraphs, lists, tables, code, links and pictures, as docs/ uses them.

Everything is escaped. Links to other pages of the guide stay in the portal; those to a page that it does not have, such
as the API's, are plain text.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

HEADING = re.compile(r"(#{1,4}) +(.+)")
ITEM = re.compile(r"( *)(?:[-*]|\d+\.) +(.*)")
NUMBERED = re.compile(r" *\d+\.")
RULE = re.compile(r"\|[ :|-]+\|")
CODE = re.compile(r"`([^`]+)`")
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
STRONG, EMPHASIS = re.compile(r"\*\*(.+?)\*\*", re.DOTALL), re.compile(r"\*(.+?)\*", re.DOTALL)
PLACEHOLDER = re.compile("\x00(\\d+)\x00")

Resolve = Callable[[str], str]  # what a link or a picture of the text leads to here; empty: to nothing


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of the page, by the name that links to it use."""

    title: str
    slug: str
    level: int


@dataclass(slots=True)
class RenderedText:
    sections: list[Section] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    @property
    def html(self) -> SafeString:
        return mark_safe("\n".join(self.parts))  # noqa: S308 - each part was escaped when it was made


def slug_of(title: str) -> str:
    """As documentation sites name a heading in an address."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def plain(text: str) -> str:
    """Without its marks."""
    for pattern in (IMAGE, LINK, CODE, STRONG, EMPHASIS):
        text = pattern.sub(r"\1", text)
    return text


def sections_of(text: str) -> list[Section]:
    return [
        Section(plain(match[2]), slug_of(plain(match[2])), len(match[1]))
        for block in blocks(text)
        if (match := HEADING.fullmatch(block[0]))
    ]


def render(text: str, *, link: Resolve, picture: Resolve) -> RenderedText:
    page = RenderedText(sections=sections_of(text))
    for block in blocks(text):
        page.parts.append(_block(block, link, picture))
    return page


def blocks(text: str) -> Iterator[list[str]]:
    """Its lines, in groups that belong together; a fence of code is one."""
    block: list[str] = []
    is_code = False
    for line in text.splitlines():
        if line.startswith("```"):
            if not is_code and block:
                yield block
                block = []
            block.append(line)
            is_code = not is_code
            if not is_code:
                yield block
                block = []
        elif is_code:
            block.append(line)
        elif not line.strip() or HEADING.fullmatch(line):
            if block:
                yield block
                block = []
            if line.strip():
                yield [line]
        else:
            block.append(line)
    if block:
        yield block


def _block(block: list[str], link: Resolve, picture: Resolve) -> str:
    def text_html(text: str) -> str:
        return inline(text, link, picture)

    first = block[0]
    if first.startswith("```"):
        return format_html("<pre><code>{}</code></pre>", "\n".join(block[1:-1]))
    if heading := HEADING.fullmatch(first):
        # The page's own title is the portal's heading.
        level, title = len(heading[1]) + (len(heading[1]) == 1), heading[2]
        return f'<h{level} id="{escape(slug_of(plain(title)))}">{text_html(title)}</h{level}>'
    if first.startswith("|"):
        return _table(block, text_html)
    if ITEM.fullmatch(first):
        return _list(block, text_html)
    return f"<p>{text_html(' '.join(line.strip() for line in block))}</p>"


def _table(block: list[str], text_html: Callable[[str], str]) -> str:
    rows = [
        [text_html(cell.strip()) for cell in line.strip().strip("|").split("|")]
        for line in block
        if not RULE.fullmatch(line.strip())
    ]
    head, *body = rows
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in body)
    return f'<div class="guide-table"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'


def _list(block: list[str], text_html: Callable[[str], str]) -> str:
    """Flat: an item that is indented stands beside the one before."""
    items: list[str] = []
    for line in block:
        if match := ITEM.fullmatch(line):
            items.append(match[2])
        else:
            items[-1] += f" {line.strip()}"
    tag = "ol" if NUMBERED.match(block[0]) else "ul"
    return f"<{tag}>{''.join(f'<li>{text_html(item)}</li>' for item in items)}</{tag}>"


def inline(text: str, link: Resolve, picture: Resolve) -> str:
    """What is code or a link is put aside before the other marks are looked for."""
    saved: list[str] = []

    def save(html: str) -> str:
        saved.append(html)
        return f"\x00{len(saved) - 1}\x00"

    def image(match: "re.Match[str]") -> str:
        address = picture(match[2])
        return save(format_html('<img src="{}" alt="{}" loading="lazy">', address, match[1])) if address else match[1]

    def anchor(match: "re.Match[str]") -> str:
        inner, address = inline(match[1], link, picture), link(match[2])
        return save(f'<a href="{escape(address)}">{inner}</a>' if address else inner)

    text = CODE.sub(lambda match: save(format_html("<code>{}</code>", match[1])), text.replace("\x00", ""))
    text = LINK.sub(anchor, IMAGE.sub(image, text))
    text = EMPHASIS.sub(r"<em>\1</em>", STRONG.sub(r"<strong>\1</strong>", escape(text)))
    while PLACEHOLDER.search(text):
        text = PLACEHOLDER.sub(lambda match: saved[int(match[1])], text)
    return text
