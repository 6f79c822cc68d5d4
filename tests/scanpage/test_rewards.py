"""Rewards without scripts: redemption, return, claims, redemption codes and wallet passes."""

import io
import re

import pytest
import qrcode
from django.utils import timezone
from qrcode.image.svg import SvgPathImage

from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption, Reward
from loyalty.models.wallets import WalletPass
from loyalty.rewards.codes import grouped
from tests.scanpage.conftest import Browser, customer_with_password, logged_in_browser, text, visible_html
from tests.support import factories
from tests.support.fakes import wallets

pytestmark = pytest.mark.django_db


def test_reward_is_redeemed_once_when_the_form_is_submitted_twice(brand, deliver_events):
    customer = customer_with_password(brand)
    browser = logged_in_browser(brand, customer)
    Reward.objects.create(brand=brand, name="A mug", cost=10)
    browser.scan(factories.code(brand))
    deliver_events()
    page = browser.send(browser.get("/s/?account"), "redeem")

    assert "Redeem A mug? Price in points: 10. Left after that: 0." in visible_html(page)
    assert not Redemption.objects.exists()
    first = browser.send(page, "redeem")
    second = browser.send(page, "redeem")

    code = grouped(Redemption.objects.get().code)
    assert code in visible_html(first)
    assert code in visible_html(second)
    account_page = visible_html(browser.get("/s/?account"))
    assert "You do not have enough points yet. Points missing: 10" in " ".join(account_page.split())


def test_redemption_can_be_returned_on_the_page(brand):
    customer = customer_with_password(brand)
    browser = logged_in_browser(brand, customer)
    factories.points(customer, brand, 20)
    redemption = factories.redemption(customer, factories.reward(brand, name="A mug"))
    page = browser.get("/s/?account")

    return_page = browser.send(page, "undo")
    invalid_page = browser.send(page, "undo", redemption="abc")

    assert "Give it back" in visible_html(page)
    assert "Returned. Your points have been refunded." in visible_html(return_page)
    assert grouped(redemption.code) not in visible_html(return_page)
    assert UserPoints.objects.get().points == 20
    assert "Not available at the moment." in visible_html(invalid_page)


def test_two_rewards_can_be_redeemed_from_one_loaded_page(brand):
    customer = customer_with_password(brand)
    browser = logged_in_browser(brand, customer)
    factories.points(customer, brand, 20)
    rewards = [factories.reward(brand), factories.reward(brand)]
    page = browser.get("/s/?account")

    for reward in rewards:
        assert "It is yours" in visible_html(browser.send(page, "redeem", reward=str(reward.pk), confirmed="1"))

    assert Redemption.objects.count() == 2


def test_account_shows_redemption_codes_until_they_are_used(brand):
    customer = customer_with_password(brand)
    browser = logged_in_browser(brand, customer)
    factories.points(customer, brand, 20)
    mug = factories.reward(brand, name="A mug")
    valid, used = factories.redemption(customer, mug), factories.redemption(customer, mug)
    Redemption.objects.filter(pk=valid.pk).update(expires_at=timezone.now().replace(year=2036, month=1, day=2))
    Redemption.objects.filter(pk=used.pk).update(status="used", used_at=timezone.now())

    page = visible_html(browser.get("/s/?account"))

    assert "Your rewards" in page
    assert (grouped(valid.code) in page, grouped(used.code) in page) == (True, False)
    assert "2 Jan 2036" in page


def qr_code(content):
    buffer = io.BytesIO()
    qrcode.make(content, image_factory=SvgPathImage, box_size=10, border=4).save(buffer)
    return buffer.getvalue()


def test_qr_code_of_a_redemption_is_visible_only_to_its_member(brand):
    customer = customer_with_password(brand)
    browser = logged_in_browser(brand, customer)
    factories.points(customer, brand, 30)
    mug = factories.reward(brand, name="A mug")
    valid, used = factories.redemption(customer, mug), factories.redemption(customer, mug)
    Redemption.objects.filter(pk=used.pk).update(status="used", used_at=timezone.now())
    [picture_path] = set(re.findall(r"/page/reward/[^\"]+", visible_html(browser.get("/s/?account"))))

    own_response = browser.get(picture_path)
    other_responses = [
        logged_in_browser(brand, customer_with_password(brand)).get(picture_path),
        Browser(brand).get(picture_path),
    ]

    assert (own_response.status_code, own_response["Content-Type"], own_response["Cache-Control"]) == (
        200,
        "image/svg+xml",
        "no-store",
    )
    assert own_response.content == qr_code(grouped(valid.code))
    assert [response.status_code for response in other_responses] == [404, 404]
    assert browser.get(f"/page/reward/{used.pk}.svg").status_code == 404
    assert valid.code not in picture_path


@pytest.mark.parametrize("path", ["/page/reward/1.svg", "/legal/terms"])
def test_missing_page_still_sends_the_tokens_that_were_renewed_for_it(brand, path):
    browser = logged_in_browser(brand, customer_with_password(brand))
    del browser.client.cookies["page_access"]

    response = browser.get(path)

    assert (response.status_code, set(response.cookies)) == (404, {"page_access", "page_refresh"})
    assert response["Cache-Control"] == "no-store"


def test_reward_of_a_milestone_can_be_claimed(brand, deliver_events):
    browser = logged_in_browser(brand, customer_with_password(brand))
    factories.milestone(factories.campaign(brand), 1, reward_name="A facial", auto_claim=False)
    browser.scan(factories.code(brand))
    deliver_events()

    page = browser.send(browser.get("/s/?account"), "claim")

    assert "It is yours" in visible_html(page)
    assert grouped(Redemption.objects.get().code) in visible_html(page)


def test_wallet_buttons_appear_with_an_issuer_and_create_a_pass(brand):
    browser = logged_in_browser(brand, customer_with_password(brand))
    page_without_buttons = visible_html(browser.get("/s/?account"))
    wallets.apple(brand)
    wallets.google(brand)

    page = visible_html(browser.get("/s/?account"))
    assert not WalletPass.objects.exists()
    apple, google = browser.get("/page/wallet/apple"), browser.get("/page/wallet/google")

    assert ("/page/wallet/" in page_without_buttons, "/page/wallet/apple" in page, "/page/wallet/google" in page) == (
        False,
        True,
        True,
    )
    assert (apple["Content-Type"], apple.content[:2]) == ("application/vnd.apple.pkpass", b"PK")
    assert google["Location"].startswith("https://pay.google.com/gp/v/save/")
    assert set(WalletPass.objects.values_list("platform", flat=True)) == {"apple", "google"}
    assert Browser(brand).get("/page/wallet/apple")["Location"] == "/s/?account"


@pytest.mark.parametrize("platform", ["apple", "google"])
def test_failed_wallet_pass_is_reported_and_the_customer_stays_logged_in(brand, platform):
    browser = logged_in_browser(brand, customer_with_password(brand))
    del browser.client.cookies["page_access"]

    response = browser.get(f"/page/wallet/{platform}")  # the brand has none

    assert (response["Location"], set(response.cookies)) == ("/s/?account&no_card", {"page_access", "page_refresh"})
    page = browser.get(response["Location"])
    assert "The card cannot be created right now." in visible_html(page)
    assert "data-customer" in text(page)
