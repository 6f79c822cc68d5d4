"""The texts that the portal's code and templates mark for translation."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import unfold
from django.utils.text import camel_case_to_spaces
from django.utils.translation.template import templatize

ROOT = Path(__file__).parents[2]
ROOMS = (
    "authcodes",
    "brands",
    "campaigns",
    "config",
    "core",
    "events",
    "jobs",
    "loyalty",
    "portal",
    "templates",
)
NOT_OF_STAFF = ("templates/scanpage",)  # its texts are in scanpage/locale
LANGUAGES = {
    "de": "nplurals=2; plural=(n != 1);",
    "ar": (
        "nplurals=6; plural=n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 && n%100<=99 "
        "? 4 : 5;"
    ),
}
UNFOLDS_APPS = ("contrib/filters/",)  # the ones of its apps in settings.INSTALLED_APPS
# How many texts a call has before its other arguments, and which of them is the context.
PLAIN, PLURAL, CONTEXT, BOTH = "message", "plural", "context", "context and plural"
MARKS = {
    "_": PLAIN,
    "gettext": PLAIN,
    "gettext_lazy": PLAIN,
    "gettext_noop": PLAIN,
    "filled": PLAIN,  # core.languages.filled
    "ngettext": PLURAL,
    "ngettext_lazy": PLURAL,
    "pgettext": CONTEXT,
    "pgettext_lazy": CONTEXT,
    "npgettext": BOTH,
    "npgettext_lazy": BOTH,
}
RELATIONS = ("ForeignKey", "OneToOneField", "ManyToManyField")  # their first argument is a model
TEXT = r"""u?("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
CALL = re.compile(rf"\b(_|n?p?gettext)\(\s*{TEXT}(?:\s*,\s*{TEXT})?(?:\s*,\s*{TEXT})?", re.S)


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a text in a catalogue."""

    message: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class Marked:
    """A marked text, with its plural if it has one, and its file."""

    key: Key
    plural: str
    place: str


@cache
def marked() -> list[Marked]:
    """Each text of the portal once, with the first file that contains it; those of django-unfold come after ours."""
    texts: dict[Key, Marked] = {}
    for each in [*ours(), *unfolds()]:
        known = texts.get(each.key)
        if known is None or (each.plural and not known.plural):
            texts[each.key] = Marked(each.key, each.plural, known.place if known else each.place)
    return list(texts.values())


def ours() -> Iterator[Marked]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            place = path.relative_to(ROOT).as_posix()
            if not place.startswith(NOT_OF_STAFF):
                yield from in_file(path, place)


def unfolds() -> Iterator[Marked]:
    """django-unfold ships no translations; Django's own cover most of its texts and are still used."""
    package = Path(unfold.__file__).parent
    for path in sorted(package.rglob("*")):
        place = path.relative_to(package).as_posix()
        is_used = not place.startswith("contrib/") or place.startswith(UNFOLDS_APPS)
        if is_used and not is_replaced(place):
            yield from in_file(path, f"unfold/{place}")


def is_replaced(place: str) -> bool:
    """Whether one of our templates replaces django-unfold's; one that extends it does not."""
    _templates, _slash, name = place.partition("templates/")
    own = [file for room in ("templates", "portal/templates") if (file := ROOT / room / name).is_file()] if name else []
    return any(f'{{% extends "{name}" %}}' not in file.read_text() for file in own)


def in_file(path: Path, place: str) -> Iterator[Marked]:
    if path.suffix == ".py" and "migrations" not in path.parts:
        source = path.read_text()
        texts = [*in_python(source), *(in_models(source) if "models" in path.as_posix() else ())]
    elif path.suffix in {".html", ".txt"} and "templates" in path.parts:
        texts = in_template(path.read_text())
    else:
        return
    for name, arguments in texts:
        yield from of_call(name, [*arguments], place)


def in_python(source: str) -> Iterator[tuple[str, list[str]]]:
    """The name of each translation call, and its leading texts."""
    if "gettext" not in source and "filled" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in MARKS:
            texts = []
            for argument in node.args:
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    break
                texts.append(argument.value)
            yield name, texts


def in_models(source: str) -> Iterator[tuple[str, list[str]]]:
    """The names that Django derives for fields and models; portal.apps has these names translated."""
    for model in ast.walk(ast.parse(source)):
        if not isinstance(model, ast.ClassDef) or model.name not in names_in_pages():
            continue
        fields = [field for line in model.body if (field := field_of(line))]
        for name, call in fields:
            has_label = call.args and not field_kind(call).startswith(RELATIONS)
            if not has_label and all(keyword.arg != "verbose_name" for keyword in call.keywords):
                yield "gettext", [name.replace("_", " ")]
        if fields:
            yield from names_of_model(model)


@cache
def names_in_pages() -> frozenset[str]:
    """All words in the pages' code, which include the names of the models that they show."""
    pages = [path for room in ROOMS for path in (ROOT / room).rglob("*.py") if {"admin", "pages"} & {*path.parts}]
    files = [*pages, *(ROOT / "portal/staff_login").glob("*.py")]
    return frozenset(word for path in files for word in re.findall(r"\w+", path.read_text()))


def names_of_model(model: ast.ClassDef) -> Iterator[tuple[str, list[str]]]:
    meta = next((each for each in model.body if isinstance(each, ast.ClassDef) and each.name == "Meta"), None)
    named = {line.targets[0].id: line.value for line in meta.body if is_name(line)} if meta else {}  # type: ignore[attr-defined]
    own = named.get("verbose_name")
    singular = camel_case_to_spaces(model.name)
    if isinstance(own, ast.Call) and isinstance(own.args[0], ast.Constant):
        singular = str(own.args[0].value)
    else:
        yield "gettext", [singular]
    if "verbose_name_plural" not in named:
        yield "gettext", [f"{singular}s"]


def is_name(line: ast.stmt) -> bool:
    return isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)


def field_of(line: ast.stmt) -> tuple[str, ast.Call] | None:
    """The name and the call in a line `name = models.SomeField(...)`."""
    if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name) and isinstance(line.value, ast.Call):
        kind = field_kind(line.value)
        if kind.endswith("Field") or kind.startswith(RELATIONS):
            return line.targets[0].id, line.value
    return None


def field_kind(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def in_template(source: str) -> Iterator[tuple[str, list[str]]]:
    """The same for a template, from Django's conversion for gettext, which contains only real calls."""
    for name, *texts in CALL.findall(templatize(source)):
        yield name, [ast.literal_eval(text) for text in texts if text]


def of_call(name: str, texts: list[str], place: str) -> Iterator[Marked]:
    kind = MARKS[name]
    context = texts.pop(0) if kind in {CONTEXT, BOTH} and texts else ""
    if not texts or not texts[0]:
        return
    plural = texts[1] if kind in {PLURAL, BOTH} and len(texts) > 1 else ""
    yield Marked(Key(texts[0], context), plural, place)
