"""Messages about the batches of a campaign before and after staff switch it off."""

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
    new_campaign = factories.campaign(brand)
    factories.batch(brand, campaign=new_campaign, quantity=3, after_campaign="nothing")
    factories.batch(brand, campaign=new_campaign, quantity=4)
    return new_campaign


def change_url(campaign):
    return address("campaigns.campaign", "change", campaign.pk)


def test_page_of_a_campaign_counts_the_codes_that_earn_nothing_without_it(client, campaign):
    page = text(client.get(change_url(campaign)))

    assert "2 batches with 7 codes name this campaign." in page
    assert "While it is not running, scans of 1 batch with 3 codes earn nothing." in page


def test_page_states_when_no_batch_names_the_campaign(client, brand):
    assert "No batch names this campaign." in text(client.get(change_url(factories.campaign(brand))))


def test_switching_a_campaign_off_warns_which_scans_earn_nothing(client, campaign):
    data = {name: value for name, value in form_of(client.get(change_url(campaign))).items() if name != "is_active"}

    answer = client.post(change_url(campaign), data, follow=True)

    campaign.refresh_from_db()
    assert not campaign.is_active
    assert "The campaign is not running: scans of 1 batch with 3 codes earn nothing now." in text(answer)


def test_setting_an_end_warns_which_scans_will_earn_nothing(client, campaign):
    end = timezone.now() + timedelta(days=9)
    data = {**form_of(client.get(change_url(campaign))), "ends_at_0": f"{end:%Y-%m-%d}", "ends_at_1": "12:00"}

    answer = client.post(change_url(campaign), data, follow=True)

    assert "When the campaign ends, scans of 1 batch with 3 codes earn nothing." in text(answer)


def test_no_warning_when_batches_earn_without_the_campaign(client, brand):
    campaign = factories.campaign(brand)
    factories.batch(brand, campaign=campaign)
    data = {name: value for name, value in form_of(client.get(change_url(campaign))).items() if name != "is_active"}

    answer = client.post(change_url(campaign), data, follow=True)

    assert "earn nothing" not in text(answer)


def test_empty_progress_list_does_not_advise_linking_a_batch(client):
    page = text(client.get(address("campaigns.userloyaltycampaign", "changelist")))

    assert "give it to a batch" not in page
    assert "A running campaign counts all scans" in page
