"""Placeholders in notification texts: known names only, escaped in HTML."""

import pytest

from loyalty.models.notifications import Language
from loyalty.notifications import catalogue, placeholders, rendering
from loyalty.notifications.catalogue import KINDS
from loyalty.notifications.placeholders import BadText, Value


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{points_earnd}", "{points_earnd} is not available here. Use one of: {brand_name}, {points_earned}."),
        ("{", "A brace is unmatched"),
        ("}", "A brace is unmatched"),
        ("{points_earned", "A brace is unmatched"),
        ("{}", "{} is not available here"),
        ("{0}", "{0} is not available here"),
        ("{points_earned.__class__}", "{points_earned.__class__} is not available here"),
        ("{points_earned[0]}", "{points_earned[0]} is not available here"),
        ("{points_earned!r}", "Write {points_earned} without anything after the name"),
        ("{points_earned:>1000000000}", "Write {points_earned} without anything after the name"),
        ("{points_earned:{brand_name}}", "Write {points_earned} without anything after the name"),
        ("{{% debug %}}{% debug %}", "{% debug %} is not available here"),
    ],
)
def test_invalid_placeholder_is_rejected_with_a_hint(text, complaint):
    with pytest.raises(BadText) as error:
        placeholders.check(text, known=["points_earned", "brand_name"])

    assert str(error.value).startswith(complaint)


def test_placeholders_are_filled_in_and_braces_can_be_escaped():
    placeholders.check("{{}} { points }", known=["points"])

    assert placeholders.fill("{{}} { points }", {"points": Value("10")}) == "{} 10"


def test_text_without_a_required_placeholder_is_rejected():
    with pytest.raises(BadText, match=r"must contain \{message\}"):
        placeholders.check("Recall!", known=["message"], needed=["message"])


def test_placeholders_in_values_are_not_filled_in():
    assert placeholders.fill("{a}", {"a": Value("{b}"), "b": Value("secret")}) == "{b}"


@pytest.mark.parametrize("channel", ["sms", "push"])
@pytest.mark.parametrize("extra_spaces", [0, 80, 160])
def test_value_that_begins_with_many_spaces_is_shortened(channel, extra_spaces):
    spaces = " " * (rendering.MAX_VALUE_LENGTHS[channel] + extra_spaces)
    text = rendering.display_value("\u200b" + spaces + "word", "en")

    assert rendering.shortened(text, channel) == Value(rendering.ELLIPSIS, is_cut=True)


def test_texts_and_values_are_escaped_in_html():
    html = placeholders.fill_html("<b>{name}</b>\n\nx", {"name": Value("<script>")})

    assert html == "<p>&lt;b&gt;<bdi>&lt;script&gt;</bdi>&lt;/b&gt;</p>\n<p>x</p>"


def test_link_becomes_a_button():
    html = placeholders.fill_html("{link}", {"link": Value('https://x/"', "Go")})

    assert html == '<p><a class="button" href="https://x/&quot;">Go</a></p>'


@pytest.mark.parametrize("language", Language.values)
@pytest.mark.parametrize(
    ("template", "channel"),
    [(name, each) for name, kind in KINDS.items() if not kind.is_written_each_time for each in kind.channels],
)
def test_shipped_texts_are_valid_in_every_language(template, channel, language):
    shipped, kind = catalogue.shipped(template, channel, language), KINDS[template]

    placeholders.check(shipped.subject, known=kind.slots)
    placeholders.check(shipped.body, known=kind.slots, needed=kind.needed.get(channel, ()))
    assert shipped.body.strip()
    assert bool(shipped.subject) == (channel != "sms")


def test_files_of_all_languages_have_the_same_structure():
    def outline(part):
        return {name: outline(inner) for name, inner in part.items()} if isinstance(part, dict) else None

    files = [outline(catalogue.language_file(language)) for language in Language.values]

    assert files[1:] == files[:-1]
