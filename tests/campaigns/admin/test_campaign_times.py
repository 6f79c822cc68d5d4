"""When a campaign begins, on its page and after an undo, and numbers in the language of the reader."""

from datetime import datetime, time, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from brands.models.undo_offers import UndoOffer
from campaigns.models.campaigns import Campaign
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db
LABEL = "campaigns.campaign"


def test_undo_of_a_pause_leaves_a_start_that_was_changed_since(brand):
    campaign = factories.campaign(brand)
    client = browser(staff(brand))
    client.post(address(LABEL, "pause", campaign.pk), {"reason": "By mistake"})
    later = timezone.now() + timedelta(days=2)
    Campaign.objects.update(starts_at=later)  # as the same user's form does

    client.post(reverse("admin:undo", args=[UndoOffer.objects.get().pk]))

    campaign.refresh_from_db()
    assert (campaign.is_active, campaign.starts_at) == (True, later)


def test_campaign_with_a_later_start_says_when_it_begins(brand):
    at = datetime.combine(timezone.now().astimezone(brand.zone).date(), time(23, 59, 59), brand.zone)
    campaign = factories.campaign(brand, starts_at=at, is_active=False)

    resume_page = text(browser(staff(brand)).get(address(LABEL, "resume", campaign.pk)))

    assert "The campaign begins automatically on its first day." in resume_page
    assert "from now on" not in resume_page
    assert "begins today" in text(browser(staff(brand)).get(address(LABEL, "page", campaign.pk)))


def test_numbers_are_grouped_in_the_language_of_the_reader(brand):
    campaign = factories.campaign(brand, target_value=2000)
    factories.milestone(campaign, 1500)

    page = text(browser(staff(brand, portal_language="de")).get(address(LABEL, "page", campaign.pk)))

    assert '<th scope="row">1.500</th>' in page
