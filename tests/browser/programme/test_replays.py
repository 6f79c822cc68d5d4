"""Staff replay past actions with a draft, and read what it would have given."""

import pytest

from campaigns.models.replays import Replay
from events import worker
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.programme.costs import PointCost
from tests.browser.settings.test_api_keys import save_screenshot
from tests.browser.window import DESKTOP, PHONE
from tests.campaigns.earning.earning_rules import rule
from tests.support import factories, shop
from tests.support.live_stack import wait_until


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_past_actions_are_replayed_with_a_draft(portal, brand, window, size):
    PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost="0.01")
    for number in range(3):
        customer = factories.customer(brand, email=f"anna{number}@example.com")
        for _time in range(number + 1):
            code = factories.code(brand)
            payload = {"type": "authenticator_scan", "product": {"authCode": code.code}}
            shop.send(brand, customer, "scan-auth", payload)
    worker.drain()  # in addition to the installation's worker
    wait_until(lambda: LoyaltyTransaction.objects.count() == 6)
    draft = rule(brand, "scan-auth", 5, "bonus", name="Five more", state="draft")
    owner = window("owner", size)

    owner.goto(f"campaigns/earningrule/{draft.pk}/replay/")
    assert owner.audit() == []
    owner.page.locator("[name=days]").fill("7")
    owner.page.get_by_role("button", name="Replay", exact=True).click()
    owner.page.wait_for_url("**/replay/*/change/")
    replay = Replay.objects.get()
    wait_until(lambda: Replay.objects.filter(result__isnull=False).exists(), seconds=60)
    owner.goto(f"campaigns/replay/{replay.pk}/change/")

    assert owner.card("Points paid").startswith("60")
    assert owner.card("Check against the ledger").startswith("0 differences")
    save_screenshot(owner, f"replay-{size[0]}")
    assert owner.audit() == []
    owner.goto(f"campaigns/earningrule/{draft.pk}/change/")
    owner.wait_for_text("60 points were paid; with this rule 90 (+30). 0 differences.")
