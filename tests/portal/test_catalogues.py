"""Whatever the portal says is translated, as it is marked in the code, and compiled as it is written."""

import ast
import gettext
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.machinery.catalogues import LANGUAGES, ROOT, tool

PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|%%|\{\w*\}|</?\w+[^>]*>")
EAGER = {"gettext", "ngettext", "pgettext", "npgettext"}
# What is called with a text that is stored: its last name, and which of its arguments.
STORES = {
    "note": "args",
    "note_on_batch": "args",
    "log_change": "args",
    "notify": "args",
    "report": "args",
    "record": "args",
    "credited": "args",
}
SHOWN = ("Card", "Row", "Tile", "Chart")  # what a page shows may have a note, too
STORED = {"action", "note", "sender_note", "receiver_note", "settlement_note"}

main, po = tool("catalogues.__main__"), tool("catalogues.po")


def catalogue(language: str) -> dict[Any, Any]:
    found: dict[Any, Any] = po.read(main.path_of(language))
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_whatever_the_portal_says_is_translated(language: str) -> None:
    missing = [f"{each.place}: {each.key.message}" for each in main.entries_of(language) if not each.is_translated]

    assert missing == [], "bin/messages says what to do"


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_translation_is_of_a_text_that_is_gone_or_that_customers_read_too(language: str) -> None:
    assert catalogue(language).keys() == {each.key for each in main.entries_of(language)}


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_compiled_is_what_is_written(language: str) -> None:
    with main.path_of(language, ending="mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)

    for key, entry in catalogue(language).items():
        if entry.plural:
            plurals = {compiled.ngettext(key.message, entry.plural, number) for number in range(120)}
            assert plurals == set(entry.forms), key
        else:
            text = compiled.pgettext(key.context, key.message) if key.context else compiled.gettext(key.message)
            assert text == entry.forms[0], key


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translation_keeps_what_is_filled_in(language: str) -> None:
    for key, entry in catalogue(language).items():
        expected = sorted(PLACEHOLDER.findall(entry.plural or key.message))
        assert sorted(PLACEHOLDER.findall(entry.forms[-1])) == expected, key
        if not key.context:  # of those in a context one is a pattern of dates
            assert entry.forms[-1].endswith(".") == (entry.plural or key.message).endswith("."), key
        for form in entry.forms[:-1]:
            assert set(PLACEHOLDER.findall(form)) <= set(expected) | set(PLACEHOLDER.findall(key.message)), key


def test_a_text_that_is_new_is_asked_for_and_one_that_is_gone_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    marked = tool("catalogues.sources").Marked
    key = tool("catalogues.sources").Key
    monkeypatch.setattr(main, "path_of", lambda language, *_where, ending="po": tmp_path / f"{language}.{ending}")
    monkeypatch.setattr(main, "required_texts", lambda _language: [marked(key("A brand new button"), "", "portal/x.py")])
    (tmp_path / "de.po").write_text('msgid ""\nmsgstr ""\n\nmsgid "Gone"\nmsgstr "Weg"\n')

    assert main.update("de") == 1

    assert "portal/x.py: A brand new button" in capsys.readouterr().out
    assert [each.message for each in po.read(tmp_path / "de.po")] == ["A brand new button"]

    taken = tmp_path / "taken.po"
    taken.write_text('msgid "A brand new button"\nmsgstr "Ein \\"neuer\\"\\nKnopf"\n')
    main.take("de", str(taken))

    assert main.update("de") == 0
    with (tmp_path / "de.mo").open("rb") as file:
        assert gettext.GNUTranslations(file).gettext("A brand new button") == 'Ein "neuer"\nKnopf'


def test_a_template_that_is_extended_is_read_too_and_one_that_is_replaced_is_not() -> None:
    sources = tool("catalogues.sources")

    assert sources.Key("Welcome back to") in {each.key for each in sources.marked()}  # of the login page
    assert not sources.is_replaced("templates/admin/login.html")
    assert not sources.is_replaced("templates/admin/pagination.html")
    assert sources.is_replaced("templates/unfold/helpers/unauthenticated_title.html")


def test_texts_of_python_and_templates_are_found() -> None:
    sources = tool("catalogues.sources")

    python = 'ngettext("%d code", "%d codes", n); pgettext("menu", "Open"); _("two " "parts"); _(name)'
    template = (
        '{% load i18n %}{% translate "Save" %} {{ _("Home") }} {% include "x.html" with words=_("Next") %}'
        "{% blocktranslate count n=n %}{{ n }} row{% plural %}{{ n }} rows{% endblocktranslate %}"
    )
    model = (
        "class Batch(Model):\n    scan_limit = IntegerField()\n    title = TextField(_('name'))\n"
        "    brand = ForeignKey(Brand)\n"
    )

    assert [texts for _name, texts in sources.in_python(python)] == [
        ["%d code", "%d codes"],
        ["menu", "Open"],
        ["two parts"],
        [],
    ]
    assert [texts for _name, texts in sources.in_template(template)] == [
        ["Save"],
        ["Home"],
        ["Next"],
        ["%(n)s row", "%(n)s rows"],
    ]
    sources.names_in_pages.cache_clear()
    names = [texts for _name, texts in sources.in_models(model.replace("Batch", "BatchRange"))]
    assert names == [["scan limit"], ["brand"], ["batch range"], ["batch ranges"]]


# --- Guards over the code ---


def modules() -> Iterator[tuple[str, ast.Module, set[str]]]:
    """Each module that translates at once, with the names by which it does."""
    for room in tool("catalogues.sources").ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            source = path.read_text()
            if "gettext" not in source or "migrations" in path.parts:
                continue
            tree = ast.parse(source)
            names = {
                alias.asname or alias.name
                for node in ast.walk(tree)
                if isinstance(node, ast.ImportFrom) and node.module == "django.utils.translation"
                for alias in node.names
                if alias.name in EAGER
            }
            if names:
                yield path.relative_to(ROOT).as_posix(), tree, names


def translates(node: ast.AST, names: set[str]) -> bool:
    return any(
        isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id in names
        for each in ast.walk(node)
    )


def stored_in(node: ast.AST) -> list[ast.AST]:
    """What a call, or a dictionary, gives to be stored."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "note"]
    if not isinstance(node, ast.Call):
        return []
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    named = [each.value for each in node.keywords if each.arg in STORED and not name.endswith(SHOWN)]
    titles = [each.value for each in node.keywords if each.arg == "title"] if "queue" in ast.unparse(node.func) else []
    return [*named, *titles, *(node.args if name in STORES else [])]


def test_what_is_stored_is_not_translated() -> None:
    """The audit log, the ledger and the names of jobs are read by others than whoever causes them."""
    wrong = [
        f"{place}:{part.lineno}"  # type: ignore[attr-defined] # expressions have one
        for place, tree, names in modules()
        for node in ast.walk(tree)
        for part in stored_in(node)
        if translates(part, names)
    ]

    assert wrong == [], "Mark it with gettext_noop: it is stored in English"


def test_nothing_is_translated_before_there_is_a_reader() -> None:
    class Early(ast.NodeVisitor):
        def __init__(self, names: set[str]) -> None:
            self.names, self.lines = names, list[int]()

        def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
            for each in [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]:
                self.visit(each)

        def visit_Lambda(self, node: ast.Lambda) -> None:
            pass

        def visit_Call(self, node: ast.Call) -> None:
            if isinstance(node.func, ast.Name) and node.func.id in self.names:
                self.lines.append(node.lineno)
            self.generic_visit(node)

    wrong = []
    for place, tree, names in modules():
        early = Early(names)
        early.visit(tree)
        wrong += [f"{place}:{line}" for line in early.lines]

    assert wrong == [], "It runs when the module is imported: use gettext_lazy"


def test_classes_of_one_side_are_mirrored_as_they_are_used() -> None:
    styles = tool("mirror_styles")

    assert styles.FILE.read_text() == styles.text(), ".venv/bin/python bin/mirror_styles.py"


def test_a_class_of_one_side_means_the_other_one() -> None:
    styles = tool("mirror_styles")

    assert list(styles.mirrored(".ml-2", "margin-left:8px")) == [
        "[dir=rtl] .ml-2 { margin-right: 8px; }",
        '[dir=rtl] .ml-2:not([class*="mr-"]) { margin-left: 0; }',
    ]
    assert list(styles.mirrored(".text-left", "text-align:left")) == ["[dir=rtl] .text-left { text-align: right; }"]
    assert list(styles.mirrored(".bar", "left:0;right:0")) == []
