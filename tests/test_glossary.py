"""Names and texts use the glossary's words (docs/glossary.md): what is left of the retired ones may only shrink."""

import re

import pytest
from django.apps import apps

from tests import retired_words


def words_in(source: str, path: str = "loyalty/sample.py") -> list[str]:
    return sorted(rule.word for rule, _ in retired_words.retired_in_module(path, source))


def test_no_file_has_more_retired_words_than_it_had_and_the_list_follows_what_was_renamed():
    allowed = retired_words.read_allowed(retired_words.ALLOWED.read_text().splitlines())
    left = retired_words.retired()

    added = [
        f"{path}: {word} in {sorted({name for _, name in places})}; write instead: {places[0][0].instead}"
        for (path, word), places in left.items()
        if len(places) > allowed.get((path, word), 0)
    ]
    fewer = [f"{path}: {word}" for (path, word), count in allowed.items() if len(left.get((path, word), ())) < count]

    assert added == [], "see docs/glossary.md"
    assert fewer == [], "fewer than the list says: run python -m tests.retired_words"


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("def tell_apple(): ...", "tell"),
        ("def send(told): ...", "told"),
        ("class NotTold(Exception): ...", "told"),
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
def test_a_retired_word_is_found(source, word):
    assert words_in(source) == [word]


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
def test_the_fields_own_words_are_no_retired_ones(source):
    assert words_in(source) == []


def test_a_model_admin_is_not_called_a_page():
    assert words_in("class RewardPage: ...", "loyalty/admin/rewards.py") == ["Page"]


def test_retired_modules_and_template_texts_are_found():
    template = '{% translate "Tried in vain." %}{% blocktranslate trimmed %}Write it\n anew.{% endblocktranslate %}'

    assert words_in("", "loyalty/refusals.py") == ["refusals"]
    assert [rule.word for rule, _ in retired_words.retired_in_template(template)] == ['"in vain"', '"anew"']


def test_the_list_is_rewritten_downwards_only_and_follows_a_file_that_was_moved():
    allowed = retired_words.read_allowed(["# comment", "a.py: told 2", 'a.py: "is no X" 1'])

    assert allowed == {("a.py", "told"): 2, ("a.py", '"is no X"'): 1}
    assert retired_words.raised(allowed, {("a.py", "told"): 1}, existing={"a.py"}) == []
    assert retired_words.raised(allowed, {("a.py", "told"): 3}, existing={"a.py"}) == ["told"]
    assert retired_words.raised(allowed, {("b.py", "told"): 1}, existing={"a.py", "b.py"}) == ["told"]
    assert retired_words.raised(allowed, {("b.py", "told"): 2}, existing={"b.py"}) == []


def test_names_of_models_have_english_plurals():
    plurals = [str(model._meta.verbose_name_plural) for model in apps.get_models()]

    assert [name for name in plurals if re.search(r"([^aeiou]y|[xz]|[cs]h)s$", name)] == []
