"""List actions and forms with ids that are invalid, foreign, or of rows deleted before or during the request."""

import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django import forms
from django.contrib.messages import get_messages
from django.db import connection
from django.db.models import Model
from django.test import Client

from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign, CampaignBudgetUse
from campaigns.models.replays import Replay
from core.forms.digits import NUMERIC
from loyalty.models.levels import BrandLevel
from tests.support import factories
from tests.support.portal import LABELS, address, brand_with_one_of_each, browser, errors, form_of, page, staff, text

pytestmark = pytest.mark.django_db
INVALID_IDS = ["abc", "1\0", "", "١", "-1", "9" * 19, "9" * 400, "1.5"]


@pytest.fixture
def own_data() -> tuple[Brand, dict[str, Any]]:
    return brand_with_one_of_each("aardvark")


@pytest.fixture
def foreign_rows() -> dict[str, Any]:
    return brand_with_one_of_each("zebra")[1]


@pytest.fixture
def client(own_data: tuple[Brand, dict[str, Any]]) -> Client:
    return browser(staff(own_data[0]))


def list_actions(client: Client) -> Iterator[tuple[str, str]]:
    """The label of each list with each action that this user has there."""
    for label in LABELS:
        response = client.get(address(label))
        form = response.context.get("action_form") if response.status_code == 200 else None
        for name, _title in form.fields["action"].choices if form else []:
            if name:
                yield label, name


def messages_of(response: Any) -> list[str]:
    return [str(message) for message in get_messages(response.wsgi_request)]


def missing_id(model: type[Model]) -> Any:
    """An id that no row has."""
    return uuid.uuid4() if model._meta.pk.get_internal_type() == "UUIDField" else 2**40


def test_list_actions_reject_ids_without_a_row_of_the_brand(client: Client, own_data: Any, foreign_rows: Any) -> None:
    all_actions = list(list_actions(client))
    assert {"authcodes.authcode", "events.event", "loyalty.userpoints"} <= {label for label, _ in all_actions}
    for label, action in all_actions:
        for row_id in [*INVALID_IDS, foreign_rows[label].pk, missing_id(type(foreign_rows[label]))]:
            response = client.post(address(label), {"action": action, "_selected_action": [row_id], "index": "0"})
            assert response.status_code == 302, (label, action, row_id)
            assert messages_of(response)[-1].startswith("Nothing was changed:"), (label, action, row_id)


def test_selection_with_one_invalid_id_changes_nothing(client: Client, own_data: Any) -> None:
    for label, action in list_actions(client):
        selection = [own_data[1][label].pk, "abc"]
        response = client.post(address(label), {"action": action, "_selected_action": selection, "index": "0"})
        message = "Nothing was changed: the selection contains an invalid id. Load the list again."
        assert messages_of(response)[-1] == message


def test_form_of_a_missing_row_is_not_found(client: Client, foreign_rows: Any) -> None:
    """An id that cannot exist is rejected before the method is checked, so one method is enough for these."""
    for label in LABELS:
        missing_ids = [str(foreign_rows[label].pk), str(missing_id(type(foreign_rows[label])))]
        requests = [(client.get, row_id) for row_id in [*INVALID_IDS, *missing_ids]] + [
            (client.post, row_id) for row_id in missing_ids
        ]
        for method, row_id in requests:
            for action in ("change", "delete", "history"):
                response = method(f"{address(label)}{quote(row_id, safe='')}/{action}/")
                assert response.status_code in {301, 302, 403, 404, 405}, (label, row_id, action)


def forms_of(client: Client, rows: dict[str, Any]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Each form that this user may submit, with the data that a browser sends when nothing was changed."""
    for label, row in rows.items():
        response = client.get(address(label, "change", row.pk))
        if response.status_code == 200 and page(label).has_change_permission(response.wsgi_request, row):
            yield label, response, form_of(response)


def delete(row: Any) -> None:
    """Delete a row that nothing refers to, as a colleague does."""
    if isinstance(row, Campaign):
        CampaignBudgetUse.objects.filter(campaign=row).delete()
    type(row)._base_manager.filter(pk=row.pk)._raw_delete(connection.alias)  # type: ignore[attr-defined]


@pytest.fixture
def unreferenced_rows(own_data: tuple[Brand, dict[str, Any]]) -> dict[str, Any]:
    """Rows that a colleague can delete because nothing refers to them."""
    brand, rows = own_data
    Replay.objects.all().delete()
    return {
        "loyalty.brandlevel": factories.level(brand, name="alone", threshold=900),
        "loyalty.reward": factories.reward(brand),
        "campaigns.campaign": factories.campaign(brand),
        "authcodes.product": factories.product(brand),
        **{
            label: rows[label]
            for label in [
                "authcodes.labellayout",
                "authcodes.printer",
                "loyalty.notificationtemplate",
                "loyalty.notificationsettings",
                "loyalty.currencyrate",
                "campaigns.earningrule",
                "brands.staffrole",
            ]
        },
    }


def test_form_of_a_row_deleted_while_it_was_open_is_not_found(client: Client, unreferenced_rows: Any) -> None:
    submissions = list(forms_of(client, unreferenced_rows))
    assert len(submissions) == len(unreferenced_rows)
    for label, _answer, data in submissions:
        delete(unreferenced_rows[label])
        assert client.post(address(label, "change", unreferenced_rows[label].pk), data).status_code == 404, label


class DeletingColleague:
    """Deletes a row just before a request locks it, after the request has read it."""

    def __init__(self, row: Any) -> None:
        self.row, self.deleted = row, False

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        table = self.row._meta.db_table
        if not self.deleted and f'FROM "{table}"' in sql and "FOR NO KEY UPDATE" in sql:
            self.deleted = True
            delete(self.row)
        return execute(sql, params, many, context)


def test_form_of_a_row_deleted_during_the_request_redirects_with_a_message(
    client: Client, unreferenced_rows: Any
) -> None:
    for label, _answer, data in list(forms_of(client, unreferenced_rows)):
        colleague = DeletingColleague(unreferenced_rows[label])
        with connection.execute_wrapper(colleague):
            response = client.post(address(label, "change", unreferenced_rows[label].pk), data)
        assert colleague.deleted, label
        assert (response.status_code, response.url) == (302, address(label)), label
        assert messages_of(response)[-1] == "A colleague has deleted this at the same time. Nothing was saved.", label


def test_inline_rows_with_invalid_missing_or_surplus_ids_are_rejected(client: Client, own_data: Any) -> None:
    campaign = own_data[1]["campaigns.campaign"]
    milestones = list(campaign.milestones.values())
    data = form_of(client.get(address("campaigns.campaign", "change", campaign.pk)))
    change_url = address("campaigns.campaign", "change", campaign.pk)
    for row_id in [*INVALID_IDS, str(2**40)]:
        for count in ("1", "3"):
            counts = {"milestones-INITIAL_FORMS": count, "milestones-TOTAL_FORMS": count}
            response = client.post(change_url, {**data, **counts, "milestones-0-milestone_id": row_id})
            [table] = response.context["inline_admin_formsets"]
            assert (response.status_code, len(table.formset.errors)) == (200, int(count)), row_id
            assert "milestone_id" in table.formset.errors[0], row_id
            assert all(row["milestone_id"] == ["This field is required."] for row in table.formset.errors[1:]), row_id
    assert list(campaign.milestones.values()) == milestones


def test_form_that_claims_a_million_inline_rows_is_cut_off(client: Client, own_data: Any) -> None:
    campaign = own_data[1]["campaigns.campaign"]
    change_url = address("campaigns.campaign", "change", campaign.pk)
    data = form_of(client.get(change_url))
    response = client.post(change_url, {**data, "milestones-TOTAL_FORMS": "1000000"})
    [table] = response.context["inline_admin_formsets"]
    assert len(table.formset.forms) <= 201
    assert table.formset.non_form_errors()


def test_no_numeric_field_accepts_non_ascii_digits(client: Client, own_data: Any) -> None:
    tested_fields = 0
    for label, response, data in list(forms_of(client, own_data[1])):
        form = response.context["adminform"].form
        for name, field in form.fields.items():
            if isinstance(field, NUMERIC) and not field.disabled:
                key = f"{name}_0" if isinstance(field, forms.SplitDateTimeField) else name
                rejected = client.post(address(label, "change", own_data[1][label].pk), {**data, key: "١"})
                assert rejected.status_code == 200, (label, name)
                assert errors(rejected).get(name), (label, name)
                tested_fields += 1
    assert tested_fields > 20


def test_django_accepts_non_ascii_digits_without_the_check() -> None:
    assert forms.IntegerField().clean("١٢") == 12
    assert BrandLevel._meta.pk.to_python("١") == 1
    assert Campaign._meta.pk.to_python("٣") == 3


def test_text_fields_accept_any_digits(client: Client, own_data: Any) -> None:
    reward = own_data[1]["loyalty.reward"]
    change_url = address("loyalty.reward", "change", reward.pk)
    assert client.post(change_url, {**form_of(client.get(change_url)), "name": "كوب ١"}).status_code == 302
    assert "كوب ١" in text(client.get(change_url))
