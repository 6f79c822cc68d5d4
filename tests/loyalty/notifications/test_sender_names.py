"""The sender name must be the brand's own, so that no brand sends in the name of another."""

import pytest

from loyalty.notifications import sender_names


@pytest.mark.parametrize("name", ["Acme", "ACME", "Acme Club", "Açme", "Acme's friends", "“Acme”"])
def test_name_of_the_brand_is_allowed_also_with_a_suffix(name):
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
def test_any_other_name_is_not_allowed(name):
    assert not sender_names.is_own(brand_name="Acme", sender_name=name)


def test_brand_name_without_letters_allows_no_sender_name():
    assert not sender_names.is_own(brand_name="!", sender_name="Northwind")
