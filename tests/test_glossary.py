"""Names and texts use the glossary's words (docs/glossary.md)."""

import re

import pytest
from django.apps import apps

from tests import glossary_rules


def retired_in(source: str, path: str = "loyalty/sample.py") -> list[str]:
    return sorted(rule.word for rule, _ in glossary_rules.retired_in_module(path, source))


def test_no_name_and_no_text_has_a_retired_word():
    left = [
        f"{path}: {rule.word} in {where}; write instead: {rule.instead}"
        for path, places in glossary_rules.retired().items()
        for rule, where in places
    ]

    assert left == [], "see docs/glossary.md"


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("def tell_apple(): ...", "tell"),
        ("def send(told): ...", "told"),
        ("class NotTold(Exception): ...", "told"),
        ("def send():\n    told = 1", "told"),
        ("def send():\n    try: ...\n    except OSError as refusal: ...", "refusal"),
        ("def send():\n    return [asked for asked in ()]", "asked"),
        ("MOST_CODES = 3", "MAX"),
        ("_SMALLEST_SIZE = 3", "MIN"),
        ("class Row:\n    held: int", "held"),
        ("class Row:\n    def save(self):\n        self.wanted = 1", "wanted"),
        ("def take_back(): ...", "take_back"),
        ("text = _('Tried in vain.')", '"in vain"'),
        ("text = gettext('Who uploaded this file may do this.')", '"Who ..." as subject'),
        ("text = _('%(name)s is no time zone.')", '"is no X"'),
        ("text = _('It is sent nothing any more.')", '"not any more"'),
    ],
)
def test_retired_word_of_a_name_or_text_is_found(source, word):
    assert retired_in(source) == [word]


@pytest.mark.parametrize(
    "source",
    [
        "class RewardNotFound(Exception): ...",
        "def keep_alive(): ...",
        "password = swords = 1",
        "text = _('Who scanned?')",
        "text = _('There is no reward.')",
        "text = _('It is no longer valid.')",
        "class ScanPage: ...",
        "redeem_point_value = reason_id = 1",
    ],
)
def test_standard_terms_are_not_retired(source):
    assert retired_in(source) == []


@pytest.mark.parametrize(
    "source",
    [
        '"""Staff are told."""',
        'def send():\n    """Refuses what is\n    too long."""',
        "at = 1  # a colleague changed it meanwhile",
        "# It is read\n# anew each time.",
        '"""Whoever asks waits."""',
    ],
)
def test_retired_word_of_a_comment_is_found(source):
    assert len(retired_in(source)) == 1


def test_comment_may_quote_a_value():
    assert retired_in('state = 1  # pages of the release before send "refused"') == []
    assert retired_in('"""Store it as `refused`."""') == []


def test_sql_comments_are_searched():
    statement = "-- hot: reads the codes\n-- anew each time.\nSELECT 'refused' -- a state\n"

    assert [rule.word for rule, _ in glossary_rules.retired_in_file("a.sql", statement)] == ['"anew"']


@pytest.mark.parametrize(
    ("script", "word"),
    [
        ("let asked = 0;", "asked"),
        ("const NAME = 1, MOST = 50;", "MAX"),
        ("function keepFiles(cache) {}", "keep"),
        ("function send(told, by) {}", "told"),
        ("rows.find((found) => found.id);", "found"),
        ("rows.forEach(told => send(told));", "told"),
        ("const [first, found] = rows;", "found"),
        ("// It is read\n// anew each time.", '"anew"'),
        ("/** Refuses it. */ const a = 1;", "refuse"),
    ],
)
def test_retired_word_of_a_script_is_found(script, word):
    assert word in " ".join(rule.word for rule, _ in glossary_rules.retired_in_file("a.js", script))


def test_strings_and_the_fields_of_objects_are_no_names_of_a_script():
    script = 'const { found, title: text } = data;\nshow("told = 1", /found = 1/, texts.found);\n'

    assert list(glossary_rules.retired_in_file("a.js", script)) == []


def test_test_names_are_sentences():
    assert retired_in("def test_nobody_is_found(): ...", "tests/test_sample.py") == []
    assert retired_in("def test_scan_is_refused(): ...", "tests/test_sample.py") == ["refused"]
    assert retired_in("def test_scan(found): ...", "tests/test_sample.py") == ["found"]


def test_model_admin_is_not_called_a_page():
    assert retired_in("class RewardPage: ...", "loyalty/admin/rewards.py") == ["Page"]


def test_retired_modules_and_template_texts_are_found():
    template = '{% translate "Tried in vain." %}{% blocktranslate trimmed %}Write it\n anew.{% endblocktranslate %}'

    assert retired_in("", "loyalty/refusals.py") == ["refusals"]
    assert [rule.word for rule, _ in glossary_rules.retired_in_template("page.html", template)] == [
        '"in vain"',
        '"anew"',
    ]


def test_template_variables_are_names_too():
    template = '{% for label in told.lines %}{{ label }}{% endfor %}{% include "admin/words.html" with words=label %}'

    assert [rule.word for rule, _ in glossary_rules.retired_in_template("page.html", template)] == ["told", "words"]
    assert [rule.word for rule, _ in glossary_rules.retired_in_template("admin/words.html", "")] == ["words"]


def test_names_that_the_glossary_quotes_exist():
    rows = [line.split("|") for line in (glossary_rules.ROOT / "docs/glossary.md").read_text().splitlines()]
    quoted = {name for row in rows if len(row) > 4 for name in re.findall(r"`([\w.*-]+)`", row[3])}
    sources = [path for path in glossary_rules.files() if path.suffix in {".py", ".html"} and "tests" not in path.parts]
    scripts = [path for app in glossary_rules.APPS for path in (glossary_rules.ROOT / app).rglob("*.js")]
    code = "\n".join(path.read_text() for path in [*sources, *scripts])

    assert len(quoted) > 100
    assert [name for name in sorted(quoted) if name.rpartition(".")[2].rstrip("*") not in code] == []


def test_model_names_have_english_plurals():
    plurals = [str(model._meta.verbose_name_plural) for model in apps.get_models()]

    assert [name for name in plurals if re.search(r"([^aeiou]y|[xz]|[cs]h)s$", name)] == []
