"""The preview next to the form of a broadcast, while its texts cannot be sent."""

import pytest

from campaigns.broadcasts.texts import MAX_CHARACTERS
from tests.support.portal import address, browser, staff

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("part", ["body", "short_text"])
@pytest.mark.parametrize("end", ["{customer_name}", "{", "{points}"])
def test_a_text_that_is_too_long_has_a_message_in_place_of_its_preview(sender, part, end):
    manager = browser(staff(sender, role="manager"))
    most = MAX_CHARACTERS[part]
    for length in (most - 1, most, most + 100):
        data = {"brand": sender.pk, "channels": ["email", "sms"], f"{part}_en": "x" * length + end}

        answer = manager.post(address("loyalty.broadcast", "read"), data)

        assert answer.json()["draft"]["problem"]
