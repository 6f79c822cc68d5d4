"""Portal pages of rewards: changes to the stock while a form is open."""

import pytest

from brands.models.audit import AuditLogEntry
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def reward_form(brand, customer):
    """A reward, the data of its open form, and a function that sends the form."""
    factories.points(customer, brand, 100)
    reward = factories.reward(brand, name="Mug", cost=10, stock=10)
    client, url = browser(staff(brand)), address("loyalty.reward", "change", reward.pk)
    response = client.get(url)
    assert 'name="initial-stock"' in response.content.decode()
    return reward, form_of(response), lambda form_data: client.post(url, form_data, follow=True)


def redeem(customer, reward, times):
    for _ in range(times):
        factories.redemption(customer, reward)


def test_stock_that_is_not_edited_keeps_its_current_value(customer, reward_form):
    reward, form, send = reward_form
    redeem(customer, reward, 3)

    send({**form, "name": "A mug"})

    reward.refresh_from_db()
    assert (reward.name, reward.stock) == ("A mug", 7)
    assert AuditLogEntry.objects.get().changes == {"name": ["Mug", "A mug"]}


def test_stock_can_be_edited(reward_form):
    reward, form, send = reward_form

    send({**form, "stock": 25})

    reward.refresh_from_db()
    assert reward.stock == 25
    assert AuditLogEntry.objects.get().changes == {"stock": [10, 25]}


def test_stock_that_changed_since_the_form_was_opened_must_be_confirmed(customer, reward_form):
    reward, form, send = reward_form
    redeem(customer, reward, 3)

    response = send({**form, "name": "A mug", "stock": 12})

    assert "The stock has changed in the meantime. It is now 7." in text(response)
    corrected = form_of(response)
    assert (corrected["name"], corrected["stock"]) == ("A mug", "12")
    corrected["initial-stock"] = response.context["adminform"].form.data["initial-stock"]
    send(corrected)
    reward.refresh_from_db()
    assert (reward.name, reward.stock) == ("A mug", 12)


def test_stock_that_became_unlimited_since_is_reported(reward_form):
    reward, form, send = reward_form
    type(reward).objects.update(stock=None)

    response = send({**form, "stock": 12})

    assert "It is now unlimited." in text(response)


def test_form_has_no_links_to_change_or_delete_related_rows(brand):
    factories.level(brand, name="Gold", threshold=7)

    html = text(browser(staff(brand)).get(address("loyalty.reward", "add")))

    assert 'name="minimum_level"' in html
    assert "Change selected" not in html
    assert "Delete selected" not in html
    assert "View selected" not in html  # it would lead nowhere, because nothing is selected
    assert "Add another level" in html
