"""Writes portal/static/portal/right_to_left.css: mirrored versions of django-unfold's one-sided classes.

django-unfold's stylesheet is compiled, and contains left and right. For each of its classes that a template of the
portal uses, this file has the rule for pages that run from right to left. Run it after an update of django-unfold, and
when a template uses a new class (tests/portal/test_catalogues.py reports that):

    .venv/bin/python bin/mirror_styles.py
"""

import re
from collections.abc import Iterator
from pathlib import Path

import unfold

ROOT = Path(__file__).parents[1]
UNFOLD = Path(unfold.__file__).parent
FILE = ROOT / "portal/static/portal/right_to_left.css"
ROOMS = ("authcodes", "brands", "campaigns", "jobs", "loyalty", "portal", "templates")
SIDES = {"left": "right", "right": "left"}
SIDED = re.compile(
    r"(?:(margin|padding|border)-)?(left|right)(-(?:width|style|color))?|border-(top|bottom)-(left|right)-radius"
)
SHORT = {"margin": "m", "padding": "p", "border": "border-"}
RESETS = {"margin": "0", "padding": "0", "border": "0", "": "auto"}
HEAD = """/* Made by bin/mirror_styles.py from django-unfold's stylesheet: what its classes of one side are where a page
   runs from right to left. What is ours says start and end, and needs none of this. */
"""


def used_names() -> set[str]:
    """All strings between spaces and quotes in templates, scripts and code, which include all used classes."""
    files = [*(UNFOLD / "templates").rglob("*.html"), *(UNFOLD / "contrib/filters").rglob("*.html")]
    files += [UNFOLD / "widgets.py"]
    for room in ROOMS:
        files += [path for path in (ROOT / room).rglob("*") if path.suffix in {".html", ".js", ".py"}]
    return {word for path in files for word in re.split(r"""[\s"'`<>={}]+""", path.read_text())}


def rules(css: str) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """For each rule the queries around it, its selector and its declarations, in order."""
    around: list[str] = []
    begin, place = 0, 0
    while place < len(css):
        if css[place] == "{":
            head = css[begin:place].strip()
            end = css.index("}", place)
            if "{" not in css[place + 1 : end]:
                yield tuple(around), head, css[place + 1 : end]
                place = end
            else:
                around.append(head)
            begin = place + 1
        elif css[place] == "}":
            around.pop()
            begin = place + 1
        elif css[place] == ";" and css[begin:place].lstrip().startswith("@"):
            begin = place + 1
        place += 1


def class_of(selector: str) -> str:
    """The utility class of a selector; empty for another kind of selector."""
    result = re.match(r"(?::is\()?\.((?:\\.|[\w-])+)", selector)
    return re.sub(r"\\(.)", r"\1", result[1]) if result else ""


def mirrored(selector: str, declarations: str) -> Iterator[str]:
    """The rules for the other direction; none if the declarations name no side, or both alike."""
    names = dict(each.split(":", 1) for each in declarations.split(";") if ":" in each)
    names = {name.strip(): value.strip() for name, value in names.items()}
    turned, same = {}, {}
    for name, value in names.items():
        if name == "text-align" and value in SIDES:
            turned[name] = SIDES[value]
        elif SIDED.fullmatch(name) and "50%" not in value:  # the middle stays the middle
            other = re.sub("left|right", lambda side: SIDES[side[0]], name)
            turned[other] = value
            if other not in names:
                same[name] = value
        elif name == "float" and value in SIDES:
            turned[name] = SIDES[value]
    if not turned or (not same and all(names.get(name) == value for name, value in turned.items())):
        return
    yield f"[dir=rtl] {selector} {{ {written(turned)} }}"
    if resets := {
        name: reset(name, value) for name, value in same.items() if "style" not in name and "color" not in name
    }:
        yield f"[dir=rtl] {unless_both(selector, next(iter(same)))} {{ {written(resets)} }}"


def reset(name: str, value: str) -> str:
    kind = (SIDED.fullmatch(name) or [""] * 2)[1] or ("border" if "radius" in name else "")
    return RESETS[kind] + (" !important" if "important" in value else "")


def unless_both(selector: str, name: str) -> str:
    """Except elements that also have a class for the other side, which then defines this side."""
    part = SIDED.fullmatch(name)
    kind = (part[1] or "") if part else ""
    other = SIDES["left" if "left" in name else "right"]
    short = f"{SHORT[kind]}{other[0]}-" if kind else f"{other}-"
    first, *pseudo = re.split(r"(?<!\\)(?=:)", selector, maxsplit=1)
    return f'{first}:not([class*="{short}"]){"".join(pseudo)}' if first else selector


def written(declarations: dict[str, str]) -> str:
    return " ".join(
        f"{name}: {value.replace('!important', ' !important').replace('  ', ' ')};"
        for name, value in declarations.items()
    )


def needed() -> Iterator[tuple[tuple[str, ...], str, str]]:
    """The one-sided rules of django-unfold that are in use: by a class in a template, or by its own widgets."""
    used = used_names()
    for around, selector, declarations in rules((UNFOLD / "static/unfold/css/styles.css").read_text()):
        name = class_of(selector)
        if selector.startswith("@") or any(each.startswith(("@keyframes", "@font-face")) for each in around):
            continue
        if name in used or (name.startswith(("select2", "calendar", "datetime", "timezone", "errorlist"))):
            yield around, selector, declarations


def text() -> str:
    result, open_now = [HEAD], ()
    for around, selector, declarations in needed():
        queries = tuple(each for each in around if each.startswith(("@media", "@container")))
        lines = list(mirrored(selector, declarations))
        if not lines:
            continue
        if queries != open_now:
            result += ["}"] * len(open_now) + [f"{each} {{" for each in queries]
            open_now = queries
        result += lines
    return "\n".join([*result, *["}"] * len(open_now)]) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
    print(f"Written: {FILE}")
