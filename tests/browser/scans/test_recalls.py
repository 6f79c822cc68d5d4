"""An owner recalls a product: sees what is affected, previews the e-mail, sends a test, types the number, and follows
the notifications and returns."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from authcodes.models.batches import Recall
from authcodes.recalls import notifications, recalls
from events import worker
from events.messages import slow_lanes
from events.models import Event
from loyalty.models.notifications import NotificationSettings
from tests.browser.programme.test_rule_builder import save_screenshot
from tests.browser.window import DESKTOP, PHONE
from tests.loyalty.notifications.conftest import box
from tests.support import factories
from tests.support.live_stack import wait_until
from tests.support.portal import scan

__all__ = ["box"]
pytestmark = pytest.mark.django_db(transaction=True)


TEXTS = {
    "recall_id": "R-7",
    "contact": "+49 30 1234567",
    "message": "The lid may break. Bring the jar back to the shop.",
    "reason": "Lids break.",
}


def scanned_product(brand, pieces=5):
    product = factories.product(brand, title="Preserving jar")
    batches = [
        factories.batch(brand, range_name=f"Lot {number}", product=product, quantity=pieces) for number in (7, 8)
    ]
    customers = [factories.customer(brand, first_name=name) for name in ("Ana", "Ben")]
    for batch in batches:
        for code, customer in zip(batch.codes.order_by("pk"), customers, strict=False):
            scan(code, user=customer, location="Berlin, Berlin")
    return product, customers


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_product_is_recalled_after_a_preview_of_the_email(window, brand, box, size):
    NotificationSettings.objects.create(brand=brand)
    product, customers = scanned_product(brand)
    staff = window("owner", size)
    page = staff.page
    if size == DESKTOP:
        staff.goto("")
        page.locator("#nav-sidebar-apps").get_by_text("Products & codes", exact=True).click()
        page.get_by_role("link", name="Preserving jar").click()
        page.get_by_role("link", name="Recall", exact=True).click()
    else:
        staff.goto(f"authcodes/recall/add/?kind=product&product={product.pk}")
    staff.wait_for_text("Every scan of these 10 codes will show your message", "Lot 7", "Lot 8")
    for name, value in TEXTS.items():
        page.locator(f"[name={name}]").fill(value)

    mail = page.frame_locator("[data-drawing^=mail][open] iframe").locator("body")
    expect(mail).to_contain_text("The lid may break.", timeout=15_000)
    page.locator("[data-drawing=mail-de] > summary").click()  # the preview of the e-mail
    expect(page.frame_locator("[data-drawing=mail-de] iframe").locator("body")).to_contain_text("The lid may break.")
    save_screenshot(staff, f"recall-preview-{size[0]}")
    assert staff.audit() == []
    assert not Recall.objects.exists()

    page.locator("[name=confirmation]").fill("2")
    page.get_by_role("button", name="Recall and send").click()
    staff.wait_for_text("Codes recalled.")
    assert Recall.objects.get().batches.count() == 2
    wait_until(lambda: count_mails(box) == 2, seconds=60)
    assert sorted(box.recipients) == sorted(customer.email for customer in customers)
    expect(page.locator(".recall-progress")).to_contain_text("2", timeout=20_000)
    save_screenshot(staff, f"recall-{size[0]}")
    assert staff.audit() == []

    page.locator("[name=pieces]").fill("4")
    page.locator("[name=note]").fill("Shop in Bern")
    page.get_by_role("button", name="Enter returned pieces").click()
    staff.wait_for_text("4 pieces came back", "Shop in Bern")


def test_codes_of_a_batch_are_chosen_and_errors_appear_at_their_field(window, brand, box):
    factories.batch(brand, range_name="Lot 9", quantity=40, prefix="JAR-")
    staff = window("owner")
    page = staff.page
    staff.goto("authcodes/recall/add/")
    assert page.locator("[data-of=range]").is_hidden()
    page.get_by_label("Some codes of one batch").check()
    assert page.locator("[data-of=product]").is_hidden()
    page.locator("[data-of=range] .select2-selection").click()
    page.locator(".select2-dropdown .select2-search__field").fill("Lot")
    page.locator(".select2-results__option", has_text="Lot 9").click()
    page.locator("[name=first]").fill("11")
    page.locator("[name=last]").fill("99")
    save_screenshot(staff, "recall-what")
    assert staff.audit() == []
    page.get_by_role("button", name="Continue").click()
    staff.wait_for_text("This code is not in the batch.")
    assert page.locator("[name=first]").input_value() == "11"

    page.locator("[name=last]").fill("20")
    page.get_by_role("button", name="Continue").click()
    staff.wait_for_text("Every scan of these 10 codes will show your message", "a part of the batch")


def test_typed_message_is_on_the_poster_and_in_a_test_send_to_staff(window, brand, box):
    scanned_product(brand)
    batch = brand.batches.earliest("pk")
    staff = window("owner")
    page = staff.page
    staff.goto(f"authcodes/recall/add/?batch={batch.pk}")
    for name, value in TEXTS.items():
        page.locator(f"[name={name}]").fill(value)
    page.locator("[data-drawing=poster-de] > summary").click()
    poster = page.frame_locator("[data-drawing=poster-de] iframe").locator("body")
    expect(poster).to_contain_text("Bring the jar back", timeout=15_000)
    expect(poster).to_contain_text("Produktr\u00fcckruf")
    save_screenshot(staff, "recall-poster")

    page.get_by_role("button", name="Send this e-mail to").locator("visible=true").click()
    staff.wait_for_text("Test sent to", "Nothing has been recalled yet.")
    assert page.locator("[name=message]").input_value() == TEXTS["message"]
    assert not Recall.objects.exists()
    wait_until(lambda: count_mails(box) == 1, seconds=60)


def count_mails(box):
    """The number of sent e-mails. The installation has no mail server, so failed attempts are repeated here."""
    Event.objects.pending().filter(lane__in=slow_lanes()).update(due_at=timezone.now())
    for lane in slow_lanes():
        worker.drain(lane=lane)
    return len(box.mails)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_codes_added_to_a_recall_in_force_notify_only_new_customers(window, brand, box, size):
    product, customers = scanned_product(brand)
    other = factories.batch(brand, range_name="Lot 9", product=product, quantity=3)
    new = factories.customer(brand, first_name="Cem")
    scan(other.codes.first(), user=new)
    first = brand.batches.get(range_name="Lot 7")
    recall = recalls.recall_batch(batch=first, at=timezone.now(), **TEXTS)
    notifications.start(recall=recall, by=None)
    wait_until(lambda: count_mails(box) == len(customers), seconds=60)
    staff = window("owner", size)
    page = staff.page

    staff.goto(f"authcodes/recall/{recall.pk}/change/")
    page.get_by_role("link", name="Add codes").click()
    staff.wait_for_text("Its message stays the same")
    page.get_by_label("Some batches").check()
    page.locator("[data-of=batches] .select2-selection").click()
    page.locator(".select2-dropdown .select2-search__field, .select2-search__field").last.fill("Lot 9")
    page.locator(".select2-results__option", has_text="Lot 9").click()
    page.get_by_role("button", name="Continue").click()
    staff.wait_for_text("Lot 9", TEXTS["message"], "Every scan of these 3 codes will show your message")
    assert page.locator("[name=message]").count() == 0
    save_screenshot(staff, f"recall-add-codes-{size[0]}")
    assert staff.audit() == []
    page.locator("[name=reason]").fill("The same lids.")
    page.locator("[name=confirmation]").fill("1")
    page.get_by_role("button", name="Add codes and send").click()
    staff.wait_for_text("Codes added to the recall.", "Lot 9")

    assert recall.batches.count() == 2
    wait_until(lambda: count_mails(box) == len(customers) + 1, seconds=60)
    assert box.recipients[-1] == new.email
