"""An owner recalls a batch: sees what it concerns, reads what customers will get, sends a test, types the number, and
watches who knows."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from authcodes.models.batches import Recall
from events import worker
from events.messages import slow_lanes
from events.models import Event
from loyalty.models.notifications import NotificationSettings
from tests.browser.test_rule_builder import shot
from tests.browser.window import DESKTOP, PHONE
from tests.loyalty.notifications.conftest import box
from tests.support import factories
from tests.support.live_stack import wait_until
from tests.support.portal import scan

__all__ = ["box"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_batch_is_recalled_in_three_steps(window, brand, box, size):
    NotificationSettings.objects.create(brand=brand)
    batch = factories.batch(brand, range_name="Lot 7", quantity=5)
    customers = [factories.customer(brand, first_name=name) for name in ("Ana", "Ben")]
    for code, customer in zip(batch.codes.order_by("pk"), customers, strict=False):
        scan(code, user=customer)
    staff = window("owner", size)
    page = staff.page
    staff.goto(f"authcodes/recall/add/?batch={batch.pk}")
    staff.reads("All 5 codes of this batch will answer every scan with your message and earn no points.")
    for name, value in (("recall_id", "R-7"), ("contact", "+49 30 1234567"), ("message", "The lid may break.")):
        page.locator(f"[name={name}]").fill(value)
    page.locator("[name=reason]").fill("Lids break.")
    page.get_by_role("button", name="Recall batch").click()

    staff.reads("What customers will receive")
    expect(page.frame_locator("details[open] iframe").first.locator("body")).to_contain_text("The lid may break.")
    page.locator("summary", has_text="German").click()
    expect(page.locator("details[open] iframe")).to_have_count(1)
    shot(staff, f"recall-preview-{size[0]}")
    assert staff.audit() == []
    page.get_by_role("button", name="Send this e-mail to").locator("visible=true").click()
    staff.reads("Test sent to")
    assert not Recall.objects.exists()
    wait_until(lambda: mailed(box) == 1, seconds=60)

    page.locator("[name=confirmation]").fill("2")
    page.get_by_role("button", name="Recall batch and send e-mails").click()
    staff.reads("Batch recalled.")
    wait_until(lambda: mailed(box) == 3, seconds=60)
    assert sorted(box.recipients[1:]) == sorted(customer.email for customer in customers)
    expect(page.locator("dl", has_text="Acknowledged")).to_contain_text("Delivered2", timeout=20_000)
    shot(staff, f"recall-{size[0]}")
    assert staff.audit() == []


def mailed(box):
    """How many mails were sent. The installation has no mail server: what it tried in vain is tried again here."""
    Event.objects.pending().filter(lane__in=slow_lanes()).update(due_at=timezone.now())
    for lane in slow_lanes():
        worker.drain(lane=lane)
    return len(box.mails)
