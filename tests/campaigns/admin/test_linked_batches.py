"""What staff read of the batches of a campaign before and after they switch it off."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand():
    return factories.brand()


@pytest.fixture
def client(brand):
    return browser(staff(brand))


@pytest.fixture
def campaign(brand):
    made = factories.campaign(brand)
    factories.batch(brand, campaign=made, quantity=3, after_campaign="nothing")
    factories.batch(brand, campaign=made, quantity=4)
    return made


def its(campaign):
    return address("campaigns.campaign", "change", campaign.pk)


def test_page_of_a_campaign_counts_the_codes_that_earn_nothing_without_it(client, campaign):
    shown = text(client.get(its(campaign)))

    assert "2 batches with 7 codes name this campaign." in shown
    assert "While it is not running, scans of 1 batch with 3 codes earn nothing." in shown


def test_page_of_a_campaign_without_batches_says_so(client, brand):
    assert "No batch names this campaign." in text(client.get(its(factories.campaign(brand))))


def test_switching_a_campaign_off_says_what_stops(client, campaign):
    filled = {name: value for name, value in form_of(client.get(its(campaign))).items() if name != "is_active"}

    answer = client.post(its(campaign), filled, follow=True)

    campaign.refresh_from_db()
    assert not campaign.is_active
    assert "The campaign is not running: scans of 1 batch with 3 codes earn nothing now." in text(answer)


def test_an_end_says_what_will_stop(client, campaign):
    end = timezone.now() + timedelta(days=9)
    filled = {**form_of(client.get(its(campaign))), "ends_at_0": f"{end:%Y-%m-%d}", "ends_at_1": "12:00"}

    answer = client.post(its(campaign), filled, follow=True)

    assert "When the campaign ends, scans of 1 batch with 3 codes earn nothing." in text(answer)


def test_a_campaign_whose_batches_earn_on_is_switched_off_without_a_warning(client, brand):
    campaign = factories.campaign(brand)
    factories.batch(brand, campaign=campaign)
    filled = {name: value for name, value in form_of(client.get(its(campaign))).items() if name != "is_active"}

    answer = client.post(its(campaign), filled, follow=True)

    assert "earn nothing" not in text(answer)


def test_empty_list_of_progress_does_not_advise_to_give_a_campaign_to_a_batch(client):
    shown = text(client.get(address("campaigns.userloyaltycampaign", "changelist")))

    assert "give it to a batch" not in shown
    assert "A running campaign counts all scans" in shown
