"""GTINs and their check digits."""

import pytest
from django.core.exceptions import ValidationError

from core.gtins import check_digit, is_gtin
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("gtin", "valid"), [("4006381333931", True), ("96385074", True), ("00012345600012", True), ("4006381333930", False)]
)
def test_check_digit_is_verified(gtin, valid):
    assert is_gtin(gtin) is valid
    assert check_digit("400638133393") == "1"


def test_product_with_a_wrong_check_digit_is_rejected_with_the_right_one():
    product = factories.product(factories.brand())
    product.gtin = "4006381333932"

    with pytest.raises(ValidationError) as error:
        product.full_clean()

    message = "The check digit of this GTIN is wrong: after 400638133393 it must be 1."
    assert error.value.message_dict == {"gtin": [message]}


@pytest.mark.parametrize("gtin", ["", "4006381333931", "96385074"])
def test_product_with_a_valid_gtin_or_none_is_accepted(gtin):
    product = factories.product(factories.brand())
    product.gtin = gtin
    product.full_clean()
