"""The name in From is the brand's own: no brand writes to anybody in another one's."""

import pytest

from loyalty.notifications import sender_names


@pytest.mark.parametrize("name", ["Acme", "ACME", "Acme Club", "Açme", "Acme's friends", "“Acme”"])
def test_the_brands_name_and_words_behind_it_are_its_own(name):
    assert sender_names.is_own(brand_name="Acme", sender_name=name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Northwind",
        "Acmeplus",
        "The Acme",
        "Northwind (Acme)",
        "\u0410cme",  # a Cyrillic letter
        "Acme\u202e dniwhtroN",  # written backwards
        "Acme\nBcc: all@example.com",
    ],
)
def test_any_other_name_is_not(name):
    assert not sender_names.is_own(brand_name="Acme", sender_name=name)


def test_a_name_without_letters_is_nobodys():
    assert not sender_names.is_own(brand_name="!", sender_name="Northwind")
