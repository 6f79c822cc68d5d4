"""Checks a built site: it loads nothing from another host, and every link in it leads somewhere."""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself, as attribute by tag.
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "embed": "src"}
LOADING_RELATIONS = {"stylesheet", "icon", "preload", "preconnect", "dns-prefetch", "manifest", "modulepreload"}
IN_STYLES = re.compile(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")]+)")


class Page(HTMLParser):
    """What a page loads, its links, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.places |= {attributes[name] for name in ("id", "name") if name in attributes}
        if tag in LOADED and LOADED[tag] in attributes:
            self.loads.append(attributes[LOADED[tag]])
        elif tag == "link" and set(attributes.get("rel", "").split()) & LOADING_RELATIONS:
            self.loads.append(attributes.get("href", ""))
        elif tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])


def faults(site: Path) -> Iterator[str]:
    pages = {file: Page(file.read_text()) for file in sorted(site.rglob("*.html"))}
    for file, page in pages.items():
        for address in [*page.loads, *page.links]:
            if complaint := wrong_with(address, file, page, pages, site=site, loaded=address in page.loads):
                yield f"{file.relative_to(site)}: {complaint}"
    for style in sorted(site.rglob("*.css")):
        for match in IN_STYLES.finditer(style.read_text()):
            yield f"{style.relative_to(site)}: loads from another host: {match[1]}"


def wrong_with(
    address: str, file: Path, page: Page, pages: dict[Path, Page], *, site: Path, loaded: bool
) -> str | None:
    parts = urlsplit(address)
    if parts.scheme == "data" or (not loaded and (parts.scheme or parts.netloc)):
        return None
    if parts.scheme or parts.netloc:
        return f"loads from another host: {address}"
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file() or not target.is_relative_to(site.resolve()):
        return f"leads nowhere: {address}"
    there = page if target == file else pages.get(target)
    if there and parts.fragment and unquote(parts.fragment) not in there.places:
        return f"no such place: {address}"
    return None


def main() -> int:
    result = list(faults(Path(sys.argv[1]).resolve()))
    print("\n".join(result), file=sys.stderr, end="\n" if result else "")
    return 1 if result else 0


if __name__ == "__main__":
    sys.exit(main())
