"""Support explains a customer's points with one click from the search box, and hands over a reward."""

from datetime import timedelta

from django.utils import timezone

from loyalty.members.listing import refresh
from tests.browser.clicks import Clicks
from tests.browser.window import PHONE
from tests.support import factories
from tests.support.portal import scan


def active_customer(brand):
    """A customer with points, a scan of a code that another customer had claimed, and a reward that waits."""
    now = timezone.now()
    customer = factories.customer(brand, email="anna@example.com", first_name="Anna", last_name="Adler")
    for days in range(40, 0, -1):
        factories.points(customer, brand, days % 7 + 1, at=now - timedelta(days=days))
    code = factories.code(brand, scan_limit=5)
    scan(code, user=factories.customer(brand), scanned_at=now - timedelta(days=20))
    type(code).objects.filter(pk=code.pk).update(first_scan_at=now - timedelta(days=20), scan_count=1)
    scan(code, user=customer, points_status="already_claimed", scan_count=2)
    factories.redemption(customer, factories.reward(brand, name="Coffee mug", cost=5))
    return customer


def test_search_leads_to_the_explanation_of_points_with_one_click(window, brand):
    active_customer(brand)
    support = window("support")
    page = support.page
    click = Clicks(support)
    support.goto("")
    page.keyboard.press("Control+k")
    page.locator("#search-input-command").press_sequentially("adler")

    click(page.get_by_role("option", name="anna@example.com").first)

    support.wait_for_text("somebody else scanned the code first, on")
    support.wait_for_text("balance 155")
    assert click.number == 1
    assert "Staff" not in page.locator(".member-chips").inner_text()


def test_reward_is_handed_over_and_a_note_written_on_a_phone(window, brand):
    active_customer(brand)
    support = window("support", PHONE)
    support.goto("loyalty/userpoints/")
    support.page.get_by_role("link", name="Anna Adler").first.click()

    support.page.get_by_role("button", name="Hand over Coffee mug").click()
    support.wait_for_text("Used. Hand over: Coffee mug")
    support.wait_for_text("No reward is waiting to be handed over.")
    support.page.locator("#id_text").fill("Called about the mug.")
    support.page.get_by_role("button", name="Save note").click()
    support.wait_for_text("Called about the mug.")
    support.page.get_by_role("button", name="Delete your note").click()
    support.wait_for_text("No notes yet.")


def test_timeline_is_filtered_and_has_older_pages(window, brand):
    active_customer(brand)
    manager = window("manager")
    manager.goto("loyalty/userpoints/")
    manager.page.get_by_role("link", name="Anna Adler").first.click()

    manager.page.get_by_role("link", name="Points", exact=True).first.click()
    manager.wait_for_text("balance")
    assert manager.page.locator(".member-line .material-symbols-outlined", has_text="qr_code_scanner").count() == 0
    manager.page.get_by_role("link", name="Older").click()
    manager.wait_for_text("Back to the newest")


def test_members_are_sorted_by_balance_with_chosen_columns(window, brand):
    active_customer(brand)
    rich = factories.customer(brand, email="rich@example.com", first_name="Zoe")
    factories.points(rich, brand, 9000)
    refresh.refresh(at=timezone.now())
    owner = window()
    owner.goto("loyalty/userpoints/?status__exact=active")

    owner.page.get_by_text("Columns", exact=False).first.click()
    owner.page.get_by_label("Joined").uncheck()
    owner.page.get_by_role("button", name="Show these columns").click()
    owner.page.get_by_role("link", name="Balance").first.click()
    owner.page.get_by_role("link", name="Balance").first.click()

    first = owner.page.locator("#result_list tbody").first
    first.get_by_text("Zoe").first.wait_for()
    assert "Joined" not in owner.page.locator("#result_list thead").inner_text()
    owner.page.get_by_role("link", name="Status: Active: remove").click()
    owner.page.wait_for_url(lambda url: "status__exact" not in url)
    assert "column=" in owner.page.url
