"""Tags of signed codes."""

from authcodes.codes import signed_tags

FIRST_SECRET, SECOND_SECRET = "a" * 40, "b" * 40


def test_tag_is_valid_only_for_its_code_and_batch(settings):
    settings.CODE_TAG_SECRETS = {1: FIRST_SECRET}
    tag = signed_tags.tag(code="A1", batch_id=7, version=1)

    assert signed_tags.verify_tag(candidate=tag, code="A1", batch_id=7, version=1)
    assert not signed_tags.verify_tag(candidate=tag, code="A2", batch_id=7, version=1)
    assert not signed_tags.verify_tag(candidate=tag, code="A1", batch_id=8, version=1)


def test_tag_has_eleven_characters_of_an_unambiguous_alphabet(settings):
    settings.CODE_TAG_SECRETS = {1: FIRST_SECRET}

    tags = {signed_tags.tag(code=f"A{number}", batch_id=1, version=1) for number in range(500)}

    assert len(tags) == 500
    assert {len(tag) for tag in tags} == {11}
    assert set("".join(tags)) == set(signed_tags.ALPHABET)


def test_tag_is_valid_in_lower_case_and_with_confused_letters(settings):
    settings.CODE_TAG_SECRETS = {1: FIRST_SECRET}
    tag = next(
        candidate
        for n in range(99)
        if {"0", "1"} <= set(candidate := signed_tags.tag(code=f"A{n}", batch_id=1, version=1))
    )
    code = next(f"A{n}" for n in range(99) if signed_tags.tag(code=f"A{n}", batch_id=1, version=1) == tag)

    misread = tag.replace("0", "o").replace("1", "l").lower()

    assert signed_tags.verify_tag(candidate=misread, code=code, batch_id=1, version=1)


def test_tags_of_an_old_secret_stay_valid_after_a_new_one_is_added(settings):
    settings.CODE_TAG_SECRETS = {1: FIRST_SECRET}
    printed = signed_tags.tag(code="A1", batch_id=7, version=1)

    settings.CODE_TAG_SECRETS = {1: FIRST_SECRET, 2: SECOND_SECRET}

    assert signed_tags.current_version() == 2
    assert signed_tags.verify_tag(candidate=printed, code="A1", batch_id=7, version=1)
    assert not signed_tags.verify_tag(candidate=printed, code="A1", batch_id=7, version=2)


def test_tags_are_invalid_without_a_secret(settings):
    settings.CODE_TAG_SECRETS = {}

    assert signed_tags.current_version() is None
    assert not signed_tags.verify_tag(candidate="", code="A1", batch_id=7, version=1)
