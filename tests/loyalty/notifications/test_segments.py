"""Automatic notifications that only the members of a segment get."""

import pytest
from django.utils import timezone

from campaigns.segments import evaluate, uses
from core.errors import Invalid
from loyalty.models.messages.notification_segments import NotificationSegment
from loyalty.models.notifications import NotificationDelivery
from tests.support import factories
from tests.support.portal import address, browser, errors, staff

pytestmark = pytest.mark.django_db(transaction=True)
LABEL = "loyalty.notificationsegment"


@pytest.fixture
def segment(brand):
    return factories.segment(brand, ("balance", "at_least", 50), name="Rich")


def test_only_members_of_the_segment_get_it(brand, own, segment, box, notify, work):
    rich, poor = factories.customer(brand), factories.customer(brand)
    factories.points(rich, brand, 100)
    evaluate.evaluate(segment.pk, at=timezone.now())
    NotificationSegment.objects.create(brand=brand, template="NOTIFY_CAMPAIGN_SUCCESS", segment=segment)

    notify(rich)
    notify(poor)
    work()

    assert box.recipients == [rich.email]
    row = NotificationDelivery.objects.get(user=poor)
    assert (row.status, row.last_error) == (
        "suppressed",
        "The member is not in the segment that this notification is for.",
    )


def test_others_are_not_limited_by_it(brand, own, segment, customer, box, notify, work):
    NotificationSegment.objects.create(brand=brand, template="NOTIFY_LEVEL_REACHED", segment=segment)
    other = factories.brand()
    NotificationSegment.objects.create(
        brand=other, template="NOTIFY_CAMPAIGN_SUCCESS", segment=factories.segment(other)
    )

    notify(customer)
    work()

    assert box.recipients == [customer.email]


def test_a_page_sets_it_and_what_is_about_safety_cannot_be_limited(brand, segment):
    client = browser(staff(brand, role="manager"))
    chosen = {"brand": brand.pk, "segment": segment.pk}

    refused = client.post(address(LABEL, "add"), {**chosen, "template": "NOTIFY_RECALL"})
    assert list(errors(refused)) == ["template"]
    assert client.post(address(LABEL, "add"), {**chosen, "template": "NOTIFY_LEVEL_REACHED"}).status_code == 302
    again = client.post(address(LABEL, "add"), {**chosen, "template": "NOTIFY_LEVEL_REACHED"})

    assert NotificationSegment.objects.get().segment == segment
    assert "already has a segment" in str(errors(again))


def test_a_segment_that_a_notification_uses_is_not_deleted(brand, segment):
    NotificationSegment.objects.create(brand=brand, template="NOTIFY_LEVEL_REACHED", segment=segment)

    with pytest.raises(Invalid, match="notification “Level reached”"):
        uses.delete(segment)
