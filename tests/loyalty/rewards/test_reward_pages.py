"""The catalogue's page: members take rewards while somebody has a reward's form open."""

import pytest

from brands.models.audit import AuditLogEntry
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(brand, customer):
    """A reward, its open form, and the way to send that."""
    factories.points(customer, brand, 100)
    reward = factories.reward(brand, name="Mug", cost=10, stock=10)
    client, its = browser(staff(brand)), address("loyalty.reward", "change", reward.pk)
    page = client.get(its)
    assert 'name="initial-stock"' in page.content.decode()
    return reward, form_of(page), lambda sent: client.post(its, sent, follow=True)


def take(customer, reward, times):
    for _ in range(times):
        factories.redemption(customer, reward)


def test_stock_that_nobody_corrects_stays_what_members_left(customer, shop):
    reward, form, send = shop
    take(customer, reward, 3)

    send({**form, "name": "A mug"})

    reward.refresh_from_db()
    assert (reward.name, reward.stock) == ("A mug", 7)
    assert AuditLogEntry.objects.get().changes == {"name": ["Mug", "A mug"]}


def test_stock_is_corrected(shop):
    reward, form, send = shop

    send({**form, "stock": 25})

    reward.refresh_from_db()
    assert reward.stock == 25
    assert AuditLogEntry.objects.get().changes == {"stock": [10, 25]}


def test_stock_that_members_took_from_meanwhile_is_corrected_knowingly(customer, shop):
    reward, form, send = shop
    take(customer, reward, 3)

    refused = send({**form, "name": "A mug", "stock": 12})

    assert "The stock has changed in the meantime. It is now 7." in text(refused)
    again = form_of(refused)
    assert (again["name"], again["stock"]) == ("A mug", "12")
    again["initial-stock"] = refused.context["adminform"].form.data["initial-stock"]
    send(again)
    reward.refresh_from_db()
    assert (reward.name, reward.stock) == ("A mug", 12)


def test_stock_that_was_made_unlimited_meanwhile_is_told_so(shop):
    reward, form, send = shop
    type(reward).objects.update(stock=None)

    refused = send({**form, "stock": 12})

    assert "It is now unlimited." in text(refused)


def test_a_form_offers_to_change_or_delete_nothing_that_others_refer_to(brand):
    factories.level(brand, name="Gold", threshold=7)

    shown = text(browser(staff(brand)).get(address("loyalty.reward", "add")))

    assert 'name="minimum_level"' in shown
    assert "Change selected" not in shown
    assert "Delete selected" not in shown
    assert "View selected" not in shown  # which leads nowhere while nothing is selected
    assert "Add another level" in shown
