"""The portal's translations: complete, compiled, and marked correctly in the code."""

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
# Functions that store a text, and the arguments that contain it.
STORING_FUNCTIONS = {
    "note": "args",
    "note_on_batch": "args",
    "log_change": "args",
    "notify": "args",
    "report": "args",
    "record": "args",
    "credited": "args",
}
DISPLAY_CLASSES = ("Card", "Row", "Tile", "Chart")  # classes of displayed values, which may have a note too
STORED_ARGUMENTS = {"action", "note", "sender_note", "receiver_note", "settlement_note"}

main, po = tool("catalogues.__main__"), tool("catalogues.po")


def catalogue(language: str) -> dict[Any, Any]:
    entries: dict[Any, Any] = po.read(main.path_of(language))
    return entries


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_marked_text_is_translated(language: str) -> None:
    missing = [f"{entry.place}: {entry.key.message}" for entry in main.entries_of(language) if not entry.is_translated]

    assert missing == [], "bin/messages says what to do"


@pytest.mark.parametrize("language", LANGUAGES)
def test_catalogue_contains_exactly_the_marked_texts_of_the_portal(language: str) -> None:
    assert catalogue(language).keys() == {entry.key for entry in main.entries_of(language)}


@pytest.mark.parametrize("language", LANGUAGES)
def test_compiled_catalogue_equals_its_source(language: str) -> None:
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
def test_translations_keep_placeholders_and_final_full_stops(language: str) -> None:
    for key, entry in catalogue(language).items():
        expected = sorted(PLACEHOLDER.findall(entry.plural or key.message))
        assert sorted(PLACEHOLDER.findall(entry.forms[-1])) == expected, key
        if not key.context:  # one of those with a context is a date format
            assert entry.forms[-1].endswith(".") == (entry.plural or key.message).endswith("."), key
        for form in entry.forms[:-1]:
            assert set(PLACEHOLDER.findall(form)) <= set(expected) | set(PLACEHOLDER.findall(key.message)), key


def test_update_reports_new_texts_and_drops_removed_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_marked = tool("catalogues.sources").Marked
    make_key = tool("catalogues.sources").Key
    monkeypatch.setattr(main, "path_of", lambda language, *_where, ending="po": tmp_path / f"{language}.{ending}")
    monkeypatch.setattr(
        main, "required_texts", lambda _language: [make_marked(make_key("A brand new button"), "", "portal/x.py")]
    )
    (tmp_path / "de.po").write_text('msgid ""\nmsgstr ""\n\nmsgid "Gone"\nmsgstr "Weg"\n')

    assert main.update("de") == 1

    assert "portal/x.py: A brand new button" in capsys.readouterr().out
    assert [key.message for key in po.read(tmp_path / "de.po")] == ["A brand new button"]

    translated_file = tmp_path / "taken.po"
    translated_file.write_text('msgid "A brand new button"\nmsgstr "Ein \\"neuer\\"\\nKnopf"\n')
    main.take("de", str(translated_file))

    assert main.update("de") == 0
    with (tmp_path / "de.mo").open("rb") as file:
        assert gettext.GNUTranslations(file).gettext("A brand new button") == 'Ein "neuer"\nKnopf'


def test_extended_templates_are_sources_and_replaced_ones_are_not() -> None:
    sources = tool("catalogues.sources")

    assert sources.Key("Welcome back to") in {entry.key for entry in sources.marked()}  # of the login page
    assert not sources.is_replaced("templates/admin/login.html")
    assert not sources.is_replaced("templates/admin/pagination.html")
    assert sources.is_replaced("templates/unfold/helpers/unauthenticated_title.html")


def test_texts_of_python_templates_and_models_are_extracted() -> None:
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
    """Each module that uses an eager translation function, with the names that it imports these under."""
    for app in tool("catalogues.sources").ROOMS:
        for path in sorted((ROOT / app).rglob("*.py")):
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
        isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in names
        for part in ast.walk(node)
    )


def stored_in(node: ast.AST) -> list[ast.AST]:
    """The expressions of a call or a dictionary whose values are stored."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "note"]
    if not isinstance(node, ast.Call):
        return []
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    named_arguments = [
        argument.value
        for argument in node.keywords
        if argument.arg in STORED_ARGUMENTS and not name.endswith(DISPLAY_CLASSES)
    ]
    titles = (
        [argument.value for argument in node.keywords if argument.arg == "title"]
        if "queue" in ast.unparse(node.func)
        else []
    )
    return [*named_arguments, *titles, *(node.args if name in STORING_FUNCTIONS else [])]


def test_stored_texts_are_not_translated() -> None:
    """Other users, with other languages, read the audit log, the ledger and the titles of jobs."""
    violations = [
        f"{path}:{part.lineno}"  # type: ignore[attr-defined] # expressions have one
        for path, tree, names in modules()
        for node in ast.walk(tree)
        for part in stored_in(node)
        if translates(part, names)
    ]

    assert violations == [], "Mark it with gettext_noop: it is stored in English"


def test_nothing_is_translated_at_import_time() -> None:
    class ImportTimeCalls(ast.NodeVisitor):
        def __init__(self, names: set[str]) -> None:
            self.names, self.lines = names, list[int]()

        def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
            for expression in [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]:
                self.visit(expression)

        def visit_Lambda(self, node: ast.Lambda) -> None:
            pass

        def visit_Call(self, node: ast.Call) -> None:
            if isinstance(node.func, ast.Name) and node.func.id in self.names:
                self.lines.append(node.lineno)
            self.generic_visit(node)

    violations = []
    for path, tree, names in modules():
        finder = ImportTimeCalls(names)
        finder.visit(tree)
        violations += [f"{path}:{line}" for line in finder.lines]

    assert violations == [], "It runs when the module is imported: use gettext_lazy"


def test_mirrored_styles_are_up_to_date() -> None:
    styles = tool("mirror_styles")

    assert styles.FILE.read_text() == styles.text(), ".venv/bin/python bin/mirror_styles.py"


def test_left_and_right_classes_are_mirrored() -> None:
    styles = tool("mirror_styles")

    assert list(styles.mirrored(".ml-2", "margin-left:8px")) == [
        "[dir=rtl] .ml-2 { margin-right: 8px; }",
        '[dir=rtl] .ml-2:not([class*="mr-"]) { margin-left: 0; }',
    ]
    assert list(styles.mirrored(".text-left", "text-align:left")) == ["[dir=rtl] .text-left { text-align: right; }"]
    assert list(styles.mirrored(".bar", "left:0;right:0")) == []
