"""Staff read the figures of a programme, and follow one to its ledger entries."""

import random

from django.utils import timezone

from loyalty.models.programme.costs import PointCost
from loyalty.programme import rollups
from tests.loyalty.programme import histories


def test_month_of_the_roll_forward_leads_to_its_ledger_entries(window, brand):
    histories.fill(brand, random.Random(6), now=timezone.now())
    PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost="0.01")
    rollups.catch_up(brand=brand, at=timezone.now())
    owner = window()
    owner.goto("")

    owner.page.get_by_role("link", name="Programme overview").first.click()
    owner.page.wait_for_url("**/programme/")
    closing = sum(account.points for account in brand.members.all())
    assert f"{closing:,.2f}".removesuffix(".00") in owner.card("Outstanding points")
    owner.page.locator("table").first.get_by_role("link").first.click()
    owner.page.wait_for_url("**movement=*")
    assert owner.page.locator("#result_list tbody tr").count() > 0
