"""Tags of signed codes."""

from authcodes.codes import signed_tags

FIRST, SECOND = "a" * 40, "b" * 40


def test_a_tag_verifies_for_its_own_code_and_batch_only(settings):
    settings.CODE_TAG_SECRETS = {1: FIRST}
    given = signed_tags.tag(code="A1", batch_id=7, version=1)

    assert signed_tags.verify_tag(candidate=given, code="A1", batch_id=7, version=1)
    assert not signed_tags.verify_tag(candidate=given, code="A2", batch_id=7, version=1)
    assert not signed_tags.verify_tag(candidate=given, code="A1", batch_id=8, version=1)


def test_a_tag_is_eleven_characters_that_nobody_misreads(settings):
    settings.CODE_TAG_SECRETS = {1: FIRST}

    made = {signed_tags.tag(code=f"A{number}", batch_id=1, version=1) for number in range(500)}

    assert len(made) == 500
    assert {len(tag) for tag in made} == {11}
    assert set("".join(made)) == set(signed_tags.ALPHABET)


def test_case_and_misread_letters_are_forgiven(settings):
    settings.CODE_TAG_SECRETS = {1: FIRST}
    given = next(
        tag for n in range(99) if {"0", "1"} <= set(tag := signed_tags.tag(code=f"A{n}", batch_id=1, version=1))
    )
    code = next(f"A{n}" for n in range(99) if signed_tags.tag(code=f"A{n}", batch_id=1, version=1) == given)

    read = given.replace("0", "o").replace("1", "l").lower()

    assert signed_tags.verify_tag(candidate=read, code=code, batch_id=1, version=1)


def test_a_new_secret_signs_and_the_old_one_still_verifies(settings):
    settings.CODE_TAG_SECRETS = {1: FIRST}
    printed = signed_tags.tag(code="A1", batch_id=7, version=1)

    settings.CODE_TAG_SECRETS = {1: FIRST, 2: SECOND}

    assert signed_tags.current_version() == 2
    assert signed_tags.verify_tag(candidate=printed, code="A1", batch_id=7, version=1)
    assert not signed_tags.verify_tag(candidate=printed, code="A1", batch_id=7, version=2)


def test_a_lost_secret_verifies_nothing(settings):
    settings.CODE_TAG_SECRETS = {}

    assert signed_tags.current_version() is None
    assert not signed_tags.verify_tag(candidate="", code="A1", batch_id=7, version=1)
