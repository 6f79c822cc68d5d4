"""The audit log of a form with an inline table has the changes of every row of the table."""

from typing import Any

import pytest
from django.test import Client

from brands.models.audit import AuditLogEntry
from brands.models.tenants import Brand
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(brand: Brand) -> Client:
    return browser(staff(brand))


def edit(client: Client, row: Any, label: str, **fields: Any) -> Any:
    url = address(label, "change", row.pk)
    return client.post(url, {**form_of(client.get(url)), **fields})


def test_change_of_an_inline_row_logs_related_rows_and_translations_by_name(client: Client, brand: Brand) -> None:
    campaign, mug = factories.campaign(brand), factories.reward(brand, name="Enamel mug")
    factories.milestone(
        campaign, 3, reward_name="A mug", reward_points=0, translations={"de": {"reward_name": "Becher"}}
    )

    answer = edit(
        client,
        campaign,
        "campaigns.campaign",
        **{"milestones-0-reward": mug.pk, "milestones-0-reward_name_de": "Emailletasse"},
    )

    assert answer.status_code == 302
    changes = {name.rpartition(": ")[2]: values for name, values in AuditLogEntry.objects.get().changes.items()}
    assert changes["reward"] == [None, f"{mug} (#{mug.pk})"]
    assert changes["reward_name"] == ["A mug", "Enamel mug"]
    assert [text.split()[-1] for text in changes["translations"]] == ["Becher", "Emailletasse"]


def test_inline_rows_of_the_same_name_are_all_logged(client: Client, brand: Brand) -> None:
    campaign = factories.campaign(brand)
    factories.milestone(campaign, 3, reward_name="A mug", reward_points=5)
    new_row = {"threshold": 3, "reward_name": "A mug", "reward_points": 7, "auto_claim": "on"}

    answer = edit(
        client,
        campaign,
        "campaigns.campaign",
        **{"milestones-0-DELETE": "on", "milestones-TOTAL_FORMS": 2, "milestones-1-campaign": campaign.pk},
        **{f"milestones-1-{name}": value for name, value in new_row.items()},
    )

    assert answer.status_code == 302
    points = [values for name, values in AuditLogEntry.objects.get().changes.items() if name.endswith("reward_points")]
    assert sorted(points, key=str) == [["5.00", None], [None, "7"]]
