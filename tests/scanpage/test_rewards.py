"""The page without scripts: rewards that are taken, given back and claimed, their codes, and cards for wallets."""

import io

import pytest
import qrcode
from django.utils import timezone
from qrcode.image.svg import SvgPathImage

from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption, Reward
from loyalty.models.wallets import WalletPass
from loyalty.rewards.codes import grouped
from tests.scanpage.conftest import Browser, customer_of, logged_in, seen, text
from tests.support import factories
from tests.support.fakes import wallets

pytestmark = pytest.mark.django_db


def test_a_reward_is_redeemed_once_however_often_the_form_is_sent(brand, deliver):
    customer = customer_of(brand)
    browser = logged_in(brand, customer)
    Reward.objects.create(brand=brand, name="A mug", cost=10)
    browser.scan(factories.code(brand))
    deliver()
    page = browser.send(browser.get("/s/?account"), "redeem")

    assert "Redeem A mug? Price in points: 10. Left after that: 0." in seen(page)
    assert not Redemption.objects.exists()
    first = browser.send(page, "redeem")
    again = browser.send(page, "redeem")

    code = grouped(Redemption.objects.get().code)
    assert code in seen(first)
    assert code in seen(again)
    after = seen(browser.get("/s/?account"))
    assert "You do not have enough points yet. Points missing: 10" in " ".join(after.split())


def test_a_reward_taken_by_mistake_is_given_back_on_the_page(brand):
    customer = customer_of(brand)
    browser = logged_in(brand, customer)
    factories.points(customer, brand, 20)
    taken = factories.redemption(customer, factories.reward(brand, name="A mug"))
    page = browser.get("/s/?account")

    undone = browser.send(page, "undo")
    hostile = browser.send(page, "undo", redemption="abc")

    assert "Give it back" in seen(page)
    assert "Returned. Your points have been refunded." in seen(undone)
    assert grouped(taken.code) not in seen(undone)
    assert UserPoints.objects.get().points == 20
    assert "Not available at the moment." in seen(hostile)


def test_of_a_page_that_is_gone_back_to_another_reward_is_taken_too(brand):
    customer = customer_of(brand)
    browser = logged_in(brand, customer)
    factories.points(customer, brand, 20)
    rewards = [factories.reward(brand), factories.reward(brand)]
    page = browser.get("/s/?account")

    for reward in rewards:
        assert "It is yours" in seen(browser.send(page, "redeem", reward=str(reward.pk), confirmed="1"))

    assert Redemption.objects.count() == 2


def test_the_codes_of_rewards_stay_on_the_page_until_they_are_used(brand):
    customer = customer_of(brand)
    browser = logged_in(brand, customer)
    factories.points(customer, brand, 20)
    mug = factories.reward(brand, name="A mug")
    good, used = factories.redemption(customer, mug), factories.redemption(customer, mug)
    Redemption.objects.filter(pk=good.pk).update(expires_at=timezone.now().replace(year=2036, month=1, day=2))
    Redemption.objects.filter(pk=used.pk).update(status="used", used_at=timezone.now())

    page = seen(browser.get("/s/?account"))

    assert "Your rewards" in page
    assert (grouped(good.code) in page, grouped(used.code) in page) == (True, False)
    assert "2 Jan 2036" in page


def qr_code(content):
    drawn = io.BytesIO()
    qrcode.make(content, image_factory=SvgPathImage, box_size=10, border=4).save(drawn)
    return drawn.getvalue()


def test_the_code_of_a_reward_is_shown_as_a_qr_code_to_its_holder_alone(brand):
    customer = customer_of(brand)
    browser = logged_in(brand, customer)
    factories.points(customer, brand, 30)
    mug = factories.reward(brand, name="A mug")
    good, used = factories.redemption(customer, mug), factories.redemption(customer, mug)
    Redemption.objects.filter(pk=used.pk).update(status="used", used_at=timezone.now())
    picture = f"/page/reward/{good.pk}.svg"

    own_response = browser.get(picture)
    others = [logged_in(brand, customer_of(brand)).get(picture), Browser(brand).get(picture)]

    assert picture in seen(browser.get("/s/?account"))
    assert (own_response.status_code, own_response["Content-Type"], own_response["Cache-Control"]) == (
        200,
        "image/svg+xml",
        "no-store",
    )
    assert own_response.content == qr_code(grouped(good.code))
    assert [answer.status_code for answer in others] == [404, 404]
    assert browser.get(f"/page/reward/{used.pk}.svg").status_code == 404
    assert good.code not in picture


def test_a_milestones_reward_is_claimed(brand, deliver):
    browser = logged_in(brand, customer_of(brand))
    factories.milestone(factories.campaign(brand), 1, reward_name="A facial", auto_claim=False)
    browser.scan(factories.code(brand))
    deliver()

    page = browser.send(browser.get("/s/?account"), "claim")

    assert "It is yours" in seen(page)
    assert grouped(Redemption.objects.get().code) in seen(page)


def test_wallet_buttons_are_shown_where_there_are_cards_and_make_one_when_they_are_pressed(brand):
    browser = logged_in(brand, customer_of(brand))
    without = seen(browser.get("/s/?account"))
    wallets.apple(brand)
    wallets.google(brand)

    page = seen(browser.get("/s/?account"))
    assert not WalletPass.objects.exists()
    apple, google = browser.get("/page/wallet/apple"), browser.get("/page/wallet/google")

    assert ("/page/wallet/" in without, "/page/wallet/apple" in page, "/page/wallet/google" in page) == (
        False,
        True,
        True,
    )
    assert (apple["Content-Type"], apple.content[:2]) == ("application/vnd.apple.pkpass", b"PK")
    assert google["Location"].startswith("https://pay.google.com/gp/v/save/")
    assert Browser(brand).get("/page/wallet/apple")["Location"] == "/s/?account"


@pytest.mark.parametrize("card", ["apple", "google"])
def test_a_card_that_cannot_be_made_is_told_and_logs_nobody_out(brand, card):
    browser = logged_in(brand, customer_of(brand))
    del browser.client.cookies["page_access"]

    answer = browser.get(f"/page/wallet/{card}")  # the brand has none

    assert (answer["Location"], set(answer.cookies)) == ("/s/?account&no_card", {"page_access", "page_refresh"})
    page = browser.get(answer["Location"])
    assert "The card cannot be created right now." in seen(page)
    assert "data-customer" in text(page)
