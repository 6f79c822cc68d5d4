"""Finds broken references in the repository's Markdown files: files, headings, pictures, named paths."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(<?([^()\s<>]+)>?(?:\s+\"[^\"]*\")?\)")
IMAGE = re.compile(r"<img[^>]*\ssrc=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
LABEL = re.compile(r"^\(([\w-]+)\)=$", re.MULTILINE)
FENCED = re.compile(r"^(```+|~~~+).*?^\1\s*$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(`+)(.+?)\1")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def markdown_files(root: Path = ROOT) -> list[Path]:
    """The repository's files, committed or not."""
    arguments = ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    output = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout
    files = [root / line for line in output.splitlines()]
    return sorted(path for path in files if path.is_file() and "templates" not in path.parts)


def broken(file: Path, *, root: Path = ROOT) -> Iterator[str]:
    """The broken references of one file, each with its line."""
    text = file.read_text()
    prose = FENCED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    bare = SPAN.sub(lambda match: " " * len(match[0]), prose)
    for match in [*LINK.finditer(bare), *IMAGE.finditer(bare)]:
        if complaint := wrong_with(match[1], file=file, root=root):
            yield f"{file.relative_to(root)}:{line_of(text, match.start())}: {complaint}"
    for match in SPAN.finditer(prose):
        if names_a_path(match[2], root) and not list(root.glob(match[2].rstrip("/"))):
            yield f"{file.relative_to(root)}:{line_of(text, match.start())}: no such path: {match[2]}"


def wrong_with(target: str, *, file: Path, root: Path) -> str | None:
    """The error message for a link, or None. Links to other hosts are not checked."""
    if ELSEWHERE.match(target):
        return None
    where, _, anchor = target.partition("#")
    path = (file.parent / where).resolve() if where else file
    if not path.is_relative_to(root.resolve()):
        return f"leads out of the repository: {target}"
    if not path.exists():
        return f"no such file: {target}"
    if anchor and path.suffix == ".md" and anchor not in anchors(path):
        return f"no such heading: {target}"
    return None


@cache
def anchors(file: Path) -> frozenset[str]:
    """The anchors of headings: their words in lower case, repeated ones with a number."""
    text = FENCED.sub("", file.read_text())
    counted: dict[str, int] = {}
    for match in HEADING.finditer(text):
        slug = slugged(match[1])
        counted[slug] = counted.get(slug, 0) + 1
    numbered = {f"{slug}-{number}" for slug, times in counted.items() for number in range(1, times)}
    return frozenset({*counted, *numbered, *LABEL.findall(text)})


def slugged(heading: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def names_a_path(code: str, root: Path) -> bool:
    """Whether `code` is a path below a directory of the repository: `docs/events.md`, `bin/run`, `tests/*/x.py`."""
    if not re.fullmatch(r"[\w*-][\w.*-]*(?:/[\w.*-]+)+/?", code) or code.endswith("..."):
        return False
    return (root / code.partition("/")[0]).is_dir() and code.partition("/")[0] != "var"


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def main() -> int:
    complaints = [complaint for file in markdown_files() for complaint in broken(file)]
    print("\n".join(complaints), file=sys.stderr, end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
