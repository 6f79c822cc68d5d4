"""Every list action and every form, with ids that are wrong, another brand's, gone, or going at the same moment."""

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
WRONG = ["abc", "1\0", "", "١", "-1", "9" * 19, "9" * 400, "1.5"]


@pytest.fixture
def own() -> tuple[Brand, dict[str, Any]]:
    return brand_with_one_of_each("aardvark")


@pytest.fixture
def foreign() -> dict[str, Any]:
    return brand_with_one_of_each("zebra")[1]


@pytest.fixture
def client(own: tuple[Brand, dict[str, Any]]) -> Client:
    return browser(staff(own[0]))


def actions(client: Client) -> Iterator[tuple[str, str]]:
    """Each list's address and each of its actions, as this person has them."""
    for label in LABELS:
        answer = client.get(address(label))
        form = answer.context.get("action_form") if answer.status_code == 200 else None
        for name, _title in form.fields["action"].choices if form else []:
            if name:
                yield label, name


def messages_of(answer: Any) -> list[str]:
    return [str(message) for message in get_messages(answer.wsgi_request)]


def gone(model: type[Model]) -> Any:
    """An id that no row has."""
    return uuid.uuid4() if model._meta.pk.get_internal_type() == "UUIDField" else 2**40


def test_a_list_action_refuses_ids_that_name_no_row_of_the_brand(client: Client, own: Any, foreign: Any) -> None:
    all_actions = list(actions(client))
    assert {"authcodes.authcode", "events.event", "loyalty.userpoints"} <= {label for label, _ in all_actions}
    for label, action in all_actions:
        for given in [*WRONG, foreign[label].pk, gone(type(foreign[label]))]:
            answer = client.post(address(label), {"action": action, "_selected_action": [given], "index": "0"})
            assert answer.status_code == 302, (label, action, given)
            assert messages_of(answer)[-1].startswith("Nothing was changed:"), (label, action, given)


def test_a_wrong_id_beside_a_good_one_changes_nothing(client: Client, own: Any) -> None:
    for label, action in actions(client):
        selection = [own[1][label].pk, "abc"]
        answer = client.post(address(label), {"action": action, "_selected_action": selection, "index": "0"})
        message = "Nothing was changed: the selection contains an invalid id. Load the list again."
        assert messages_of(answer)[-1] == message


def test_a_form_of_no_row_is_not_found(client: Client, foreign: Any) -> None:
    """What no id of a form can be is answered before the method is looked at: it is sent by one method only."""
    for label in LABELS:
        nobodys = [str(foreign[label].pk), str(gone(type(foreign[label])))]
        sent = [(client.get, given) for given in [*WRONG, *nobodys]] + [(client.post, given) for given in nobodys]
        for method, given in sent:
            for what in ("change", "delete", "history"):
                answer = method(f"{address(label)}{quote(given, safe='')}/{what}/")
                assert answer.status_code in {301, 302, 403, 404, 405}, (label, given, what)


def forms_of(client: Client, rows: dict[str, Any]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Each form that this person may send, and what a browser sends of it unchanged."""
    for label, row in rows.items():
        answer = client.get(address(label, "change", row.pk))
        if answer.status_code == 200 and page(label).has_change_permission(answer.wsgi_request, row):
            yield label, answer, form_of(answer)


def delete(row: Any) -> None:
    """As a colleague does, when nothing hangs on the row."""
    if isinstance(row, Campaign):
        CampaignBudgetUse.objects.filter(campaign=row).delete()
    type(row)._base_manager.filter(pk=row.pk)._raw_delete(connection.alias)  # type: ignore[attr-defined]


@pytest.fixture
def alone(own: tuple[Brand, dict[str, Any]]) -> dict[str, Any]:
    """Rows that a colleague can delete: nothing refers to them."""
    brand, rows = own
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


def test_a_form_of_a_row_that_a_colleague_deleted_meanwhile_is_refused(client: Client, alone: Any) -> None:
    sent = list(forms_of(client, alone))
    assert len(sent) == len(alone)
    for label, _answer, data in sent:
        delete(alone[label])
        assert client.post(address(label, "change", alone[label].pk), data).status_code == 404, label


class Colleague:
    """Deletes a row as soon as somebody's request is about to lock it: after the request has read it."""

    def __init__(self, row: Any) -> None:
        self.row, self.came = row, False

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        table = self.row._meta.db_table
        if not self.came and f'FROM "{table}"' in sql and "FOR NO KEY UPDATE" in sql:
            self.came = True
            delete(self.row)
        return execute(sql, params, many, context)


def test_a_form_of_a_row_that_a_colleague_deletes_at_that_moment_is_refused(client: Client, alone: Any) -> None:
    for label, _answer, data in list(forms_of(client, alone)):
        colleague = Colleague(alone[label])
        with connection.execute_wrapper(colleague):
            answer = client.post(address(label, "change", alone[label].pk), data)
        assert colleague.came, label
        assert (answer.status_code, answer.url) == (302, address(label)), label
        assert messages_of(answer)[-1] == "A colleague has deleted this at the same time. Nothing was saved.", label


def test_rows_of_a_table_that_are_wrong_gone_or_too_many_are_refused(client: Client, own: Any) -> None:
    campaign = own[1]["campaigns.campaign"]
    data = form_of(client.get(address("campaigns.campaign", "change", campaign.pk)))
    there = address("campaigns.campaign", "change", campaign.pk)
    for given in [*WRONG, str(2**40)]:
        for count in ("1", "3"):
            counts = {"milestones-INITIAL_FORMS": count, "milestones-TOTAL_FORMS": count}
            answer = client.post(there, {**data, **counts, "milestones-0-milestone_id": given})
            assert answer.status_code in {200, 302}, given
            if answer.status_code == 302:
                assert messages_of(answer), given
    assert campaign.milestones.count() == 1


def test_a_form_that_announces_a_million_rows_is_answered_soon(client: Client, own: Any) -> None:
    campaign = own[1]["campaigns.campaign"]
    there = address("campaigns.campaign", "change", campaign.pk)
    data = form_of(client.get(there))
    answer = client.post(there, {**data, "milestones-TOTAL_FORMS": "1000000"})
    [table] = answer.context["inline_admin_formsets"]
    assert len(table.formset.forms) <= 201
    assert table.formset.non_form_errors()


def test_foreign_digits_are_no_number_and_no_id_in_any_form(client: Client, own: Any) -> None:
    tried = 0
    for label, answer, data in list(forms_of(client, own[1])):
        form = answer.context["adminform"].form
        for name, field in form.fields.items():
            if isinstance(field, NUMERIC) and not field.disabled:
                key = f"{name}_0" if isinstance(field, forms.SplitDateTimeField) else name
                refused = client.post(address(label, "change", own[1][label].pk), {**data, key: "١"})
                assert refused.status_code == 200, (label, name)
                assert errors(refused).get(name), (label, name)
                tried += 1
    assert tried > 20


def test_the_same_digits_would_pass_as_numbers_without_the_check() -> None:
    assert forms.IntegerField().clean("١٢") == 12
    assert BrandLevel._meta.pk.to_python("١") == 1
    assert Campaign._meta.pk.to_python("٣") == 3


def test_text_may_hold_any_digits(client: Client, own: Any) -> None:
    reward = own[1]["loyalty.reward"]
    there = address("loyalty.reward", "change", reward.pk)
    assert client.post(there, {**form_of(client.get(there)), "name": "كوب ١"}).status_code == 302
    assert "كوب ١" in text(client.get(there))
