"""A marketer writes a broadcast, sees its audience, previews it, sends it to a segment and reads the result."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from campaigns.segments import evaluate
from events import worker
from events.models import Event
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.models.notifications import NotificationDelivery, NotificationSettings
from loyalty.notifications import preferences
from tests.browser.programme.test_rule_builder import save_screenshot
from tests.browser.window import DESKTOP, PHONE
from tests.loyalty.notifications.conftest import box
from tests.support import factories
from tests.support.live_stack import wait_until

__all__ = ["box"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_broadcast_is_written_previewed_sent_and_counted(window, brand, box, size):
    NotificationSettings.objects.create(brand=brand)
    ana, ben = factories.customer(brand, email="ana@example.com"), factories.customer(brand, email="ben@example.com")
    for member in (ana, ben):
        factories.points(member, brand, 150)
    factories.customer(brand, email="cleo@example.com")
    preferences.opt_out(ben.pk, brand.pk, channel="email", topics=["offers"], at=timezone.now())
    segment = factories.segment(brand, ("balance", "at_least", 100), name="Rich")
    evaluate.evaluate(segment.pk, at=timezone.now())
    staff = window("manager", size)
    page = staff.page
    staff.goto("loyalty/broadcast/")
    staff.wait_for_text("A broadcast is a message to the members of a segment.")
    staff.goto("loyalty/broadcast/add/")

    total, lines = page.locator("[data-part=total]"), page.locator("[data-part=lines]")
    expect(total).to_have_text("It reaches 2 of 3 members.")
    page.locator("[name=name]").fill("Spring sale")
    page.locator("[name=segment]").select_option(label="Rich")
    expect(total).to_have_text("It reaches 1 of 2 members.")
    expect(lines).to_contain_text("E-mail: 1")
    page.locator("[name=subject_en]").fill("Spring sale")
    page.locator("[name=body_en]").fill("{greeting}\n\nYou have {new_balance} points.")
    expect(page.locator("[data-part=subject]")).to_have_text("Spring sale")
    expect(page.frame_locator("iframe[data-part=html]").locator("body")).to_contain_text("You have 4,800 points.")
    page.locator("[name=body_en]").fill("{greeting} {points}")
    expect(page.locator("[data-part=problem]")).to_contain_text("{points} is not available here.")
    page.locator("[name=body_en]").fill("{greeting}\n\nYou have {new_balance} points.")
    expect(page.locator("[data-part=problem]")).to_be_hidden()
    assert staff.audit() == []
    save_screenshot(staff, f"broadcast-form-{size[0]}")

    page.locator("[name=_save]").first.click()
    staff.wait_for_text("Saved as a draft. Nothing is sent yet")
    save_screenshot(staff, f"broadcast-draft-{size[0]}")
    page.get_by_role("link", name="Preview and test").click()
    staff.wait_for_text("Send a test to manager1@example.com")
    assert staff.audit() == []
    broadcast = Broadcast.objects.get()
    staff.goto(f"loyalty/broadcast/{broadcast.pk}/send/")
    staff.wait_for_text("It reaches 1 of 2 members.")
    save_screenshot(staff, f"broadcast-question-{size[0]}")
    assert staff.audit() == []
    page.get_by_role("button", name="Send to 1 member").click()
    staff.wait_for_text("Sending. This page shows the progress.")

    wait_until(lambda: Broadcast.objects.filter(state="sent").exists(), seconds=60)
    expect(page.locator("[data-job]")).to_have_count(0, timeout=60_000)  # the page has reloaded itself
    wait_until(lambda: count_sent() == 1, seconds=60)
    assert box.recipients == ["ana@example.com"]
    staff.goto(f"loyalty/broadcast/{broadcast.pk}/change/")
    assert (figure(page, "Reached"), figure(page, "On the way")) == ("1", "0")
    assert (figure(page, "Members"), figure(page, "Opted out")) == ("2", "1")
    save_screenshot(staff, f"broadcast-sent-{size[0]}")
    assert staff.audit() == []
    staff.goto("loyalty/broadcast/")
    staff.wait_for_text("Spring sale")
    save_screenshot(staff, f"broadcast-list-{size[0]}")


def count_sent():
    """The number of sent notifications. The installation has no mail server, so failed attempts are repeated here."""
    Event.objects.pending().filter(lane="broadcasts").update(due_at=timezone.now())
    worker.drain(lane="broadcasts")
    return NotificationDelivery.objects.filter(status="sent").count()


def figure(page, name):
    return page.locator(f"xpath=//dt[normalize-space()='{name}']/following-sibling::dd[1]").inner_text()
