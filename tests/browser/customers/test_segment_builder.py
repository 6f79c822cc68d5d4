"""A marketer creates a segment, reads it as a sentence, sees its size and a sample, and lists its members."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from campaigns.segments import evaluate
from loyalty.models.programme.segments import Segment
from tests.browser.programme.test_rule_builder import save_screenshot
from tests.browser.window import DESKTOP, PHONE
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_segment_is_created_counted_and_listed(window, brand, size):
    factories.level(brand, "Gold", threshold=100)
    ana, ben = factories.customer(brand, email="ana@example.com"), factories.customer(brand, email="ben@example.com")
    factories.points(ana, brand, 150)
    staff = window("manager", size)
    page = staff.page
    staff.goto("loyalty/segment/add/")

    page.locator("[name=name]").fill("Rich and quiet")
    count, sentence = page.locator("[data-part=count]"), page.locator("[data-part=sentence]")
    expect(count).to_have_text("2 members")
    expect(sentence).to_have_text("Every active member.")
    rows = page.locator("[data-rule-rows=conditions]")
    page.get_by_role("button", name="Add a condition").click()
    rows.get_by_label("Field").select_option("balance")
    rows.get_by_label("Comparison").select_option("at_least")
    rows.get_by_label("Value").fill("100")
    expect(count).to_have_text("1 member")
    expect(page.locator("[data-part=sample] a")).to_have_text("ana@example.com")
    page.get_by_role("button", name="Add a condition").click()
    second = rows.locator(".rule-row[role=group]").nth(1)
    second.get_by_label("Field").select_option("scans")
    second.get_by_label("Comparison").select_option("at_most")
    second.get_by_label("How often").fill("0")
    second.get_by_label("In the last days").fill("60")
    page.get_by_role("button", name="Add a condition").click()
    third = rows.locator(".rule-row[role=group]").nth(2)
    third.get_by_label("Field").select_option("consent")
    third.get_by_label("Rewards and reminders (E-mail)").check()
    expect(sentence).to_have_text(
        "Members for whom this is true: points on the balance is at least 100 and accepted scans is at most 0 in 60 "
        "days and wants to hear about is one of Rewards and reminders (E-mail)."
    )
    expect(count).to_have_text("1 member")
    save_screenshot(staff, f"segment-builder-{size[0]}")

    second.get_by_label("In the last days").fill("0")
    expect(page.locator("[data-part=overlaps]")).to_contain_text("Write a whole number from 1.")
    second.get_by_label("In the last days").fill("60")
    expect(count).to_have_text("1 member")
    page.locator("[name=_save]").first.click()
    staff.wait_for_text("was added successfully")
    segment = Segment.objects.get()
    evaluate.evaluate(segment.pk, at=timezone.now())
    staff.goto("loyalty/segment/")
    save_screenshot(staff, f"segment-list-{size[0]}")
    staff.goto(f"loyalty/segment/{segment.pk}/change/")
    expect(rows.get_by_label("Value").first).to_have_value("100")
    expect(count).to_have_text("1 member")
    save_screenshot(staff, f"segment-change-{size[0]}")
    assert staff.axe() == []
    staff.goto(f"loyalty/segment/{segment.pk}/members/")
    expect(page.get_by_text("ana@example.com").first).to_be_visible()
    expect(page.get_by_text(ben.email)).to_have_count(0)
