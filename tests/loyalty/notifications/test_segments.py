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


def test_only_members_of_the_segment_are_notified(brand, own, segment, box, notify, work):
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


def test_segment_does_not_limit_other_templates_or_brands(brand, own, segment, customer, box, notify, work):
    NotificationSegment.objects.create(brand=brand, template="NOTIFY_LEVEL_REACHED", segment=segment)
    other_brand = factories.brand()
    NotificationSegment.objects.create(
        brand=other_brand, template="NOTIFY_CAMPAIGN_SUCCESS", segment=factories.segment(other_brand)
    )

    notify(customer)
    work()

    assert box.recipients == [customer.email]


def test_page_sets_a_segment_but_not_for_safety_notifications(brand, segment):
    client = browser(staff(brand, role="manager"))
    form_data = {"brand": brand.pk, "segment": segment.pk}

    rejected = client.post(address(LABEL, "add"), {**form_data, "template": "NOTIFY_RECALL"})
    assert list(errors(rejected)) == ["template"]
    assert client.post(address(LABEL, "add"), {**form_data, "template": "NOTIFY_LEVEL_REACHED"}).status_code == 302
    duplicate = client.post(address(LABEL, "add"), {**form_data, "template": "NOTIFY_LEVEL_REACHED"})

    assert NotificationSegment.objects.get().segment == segment
    assert "already has a segment" in str(errors(duplicate))


def test_segment_used_by_a_notification_cannot_be_deleted(brand, segment):
    NotificationSegment.objects.create(brand=brand, template="NOTIFY_LEVEL_REACHED", segment=segment)

    with pytest.raises(Invalid, match="notification “Level reached”"):
        uses.delete(segment)
