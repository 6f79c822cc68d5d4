"""The portal's walls: staff of one brand see and change nothing of another's, whichever door they try."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.contrib import admin
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import ForeignKey
from django.test import Client
from django.urls import reverse

from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.prints import LabelLayout, Printer
from brands.identity.roles import CHANGE, TABLE, VIEW, may
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from campaigns.models.campaigns import Milestone
from loyalty.models.accounts import UserPoints
from tests.support import factories
from tests.support.fakes import wallets
from tests.support.machinery.log_watch import LogWatch
from tests.support.machinery.module_rows import shared_rows
from tests.support.portal import (
    LABELS,
    LAYOUT_PARTS,
    address,
    brand_with_one_of_each,
    browser,
    errors,
    form_of,
    links,
    of_a_row,
    page,
    scan,
    staff,
    text,
    unrendered,
)

pytestmark = pytest.mark.django_db
MARKER = "zebra"
# Pages of print runs whose id is a batch's, or a recall's.
OF_OTHER_ROWS = {("authcodes.printrun", what) for what in ("batch", "preview", "poster")}


@pytest.fixture(scope="module")
def scenarios(django_db_setup: None, django_db_blocker: Any, log_watch: LogWatch) -> Iterator[Callable[[], Any]]:
    def make_both() -> Any:
        return brand_with_one_of_each("aardvark"), brand_with_one_of_each(MARKER)

    with shared_rows(make_both, blocker=django_db_blocker, log_watch=log_watch) as copied:
        yield copied


@pytest.fixture
def both(scenarios: Callable[[], Any], db: None) -> Any:
    return scenarios()


@pytest.fixture
def own(both: Any) -> tuple[Brand, dict[str, Any]]:
    found: tuple[Brand, dict[str, Any]] = both[0]
    return found


@pytest.fixture
def foreign(both: Any) -> tuple[Brand, dict[str, Any]]:
    found: tuple[Brand, dict[str, Any]] = both[1]
    return found


@pytest.fixture
def owner(own: tuple[Brand, dict[str, Any]], foreign: tuple[Brand, dict[str, Any]]) -> User:
    """Owner of the one brand; beside it stands the other, and people whom both know."""
    shared = factories.user(email="shared@example.com", registered_brand=foreign[0], is_staff=True)
    StaffRole.objects.create(user=shared, brand=foreign[0], role="support")
    UserPoints.objects.create(user=shared, brand=own[0])
    # Somebody scanned a code of the one brand in the other's app: who it was is the other's to know.
    scan(own[1]["authcodes.authcode"], user=foreign[1]["brands.user"], outcome="error", reason="other_brand")
    return staff(own[0])


@pytest.fixture
def client(owner: User) -> Client:
    return browser(owner)


def relations() -> list[Any]:
    return [
        (model._meta.label_lower, field)
        for model in admin.site._registry
        for field in model._meta.get_fields()
        if isinstance(field, ForeignKey)
    ]


def test_every_page_is_in_the_role_table_and_here(own: Any, foreign: Any) -> None:
    assert set(LABELS) == set(own[1]) == set(foreign[1])
    assert set(LABELS) <= set(TABLE)


@pytest.mark.parametrize("label", LABELS)
def test_lists_forms_and_histories_name_nobody_elses_rows(client: Client, own: Any, label: str) -> None:
    row = own[1][label]
    listed = client.get(address(label))
    addresses = [address(label, "change", row.pk), address(label, "history", row.pk)]
    if page(label).has_add_permission(listed.wsgi_request):
        addresses += [address(label, "add"), address(label, "add") + "?_popup=1"]

    for response in (listed, *map(client.get, addresses)):
        assert response.status_code == 200, response.request
        assert MARKER not in text(response).lower(), response.request
    assert "aardvark" in text(listed) or label in {
        "campaigns.earningrule",
        "events.event",
        "loyalty.currencyrate",
    }


@pytest.mark.parametrize("label", LABELS)
def test_searches_and_filters_find_and_name_nobody_elses_rows(client: Client, foreign: Any, label: str) -> None:
    its = foreign[1]
    for words in (MARKER, its["brands.user"].email, str(its[label].pk), its["authcodes.authcode"].code):
        with unrendered():
            found = client.get(address(label), {"q": words})
        assert found.status_code == 200
        assert not set(found.context_data["cl"].queryset) & set(its.values()), words  # type: ignore[attr-defined]

    for spec in client.get(address(label)).context["cl"].filter_specs:
        related = getattr(getattr(spec, "field", None), "related_model", None)
        row = next((row for row in its.values() if type(row) is related), its[label])
        for name in spec.expected_parameters():
            found = client.get(address(label), {name: row.pk}, follow=True)
            assert found.status_code == 200
            assert MARKER not in text(found).lower(), name


@pytest.mark.parametrize(("label", "field"), relations(), ids=lambda it: it if isinstance(it, str) else it.name)
def test_choices_looked_up_while_typing_are_ones_own(client: Client, label: str, field: Any) -> None:
    app, model = label.split(".")
    where = {"app_label": app, "model_name": model, "field_name": field.name}

    for term in ("", MARKER, "z"):
        response = client.get(reverse("admin:autocomplete"), {**where, "term": term})
        assert response.status_code in {200, 403, 404}
        assert MARKER not in text(response).lower()


def test_every_link_leads_somewhere_of_ones_own(client: Client) -> None:
    seen: set[str] = set()
    waiting = {reverse("admin:index")}
    while waiting:
        asked = waiting.pop()
        seen.add(asked)
        response = client.get(asked, follow=True)
        assert response.status_code == 200, asked
        assert MARKER not in text(response).lower(), asked
        waiting |= {link for link in links(text(response)) if "logout" not in link and "?" not in link} - seen
    assert len(seen) > 4 * len(LABELS) - 10


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("label", LABELS)
def test_another_brands_id_does_not_exist(client: Client, foreign: Any, label: str, method: str) -> None:
    row = foreign[1][label]

    for what in ("change", "delete", "history"):
        answers = [getattr(client, method)(address(label, what, pk)) for pk in (row.pk, missing(row))]
        assert [answer.status_code for answer in answers] == [404, 404], what
        assert len({text(answer).replace(answer["X-Request-ID"], "") for answer in answers}) == 1


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("label", LABELS)
def test_nothing_can_be_done_with_another_brands_row(client: Client, foreign: Any, label: str, method: str) -> None:
    """Whether the page asks before it acts or not: the same answer as for a row that does not exist."""
    row = foreign[1][label]

    for what in of_a_row(label):
        if (label, what) not in OF_OTHER_ROWS:
            addresses = [address(label, what, pk) for pk in (row.pk, missing(row))]
            answers = [getattr(client, method)(each, follow=True) for each in addresses]
            assert {answer.status_code for answer in answers} in ({403}, {404}, {405}), what
            assert len({text(answer).replace(answer["X-Request-ID"], "") for answer in answers}) == 1, what


def test_the_walk_comes_by_the_acts_of_pages() -> None:
    acts = {f"{label} {what}" for label in LABELS for what in of_a_row(label)}
    assert {"loyalty.userpoints adjust", "loyalty.redemption cancel", "brands.apikey revoke"} <= acts
    assert len(acts) > 3 * len(LABELS) + 20


def missing(row: Any) -> Any:
    """An id of the same kind that no row has."""
    return UUID(int=0) if isinstance(row.pk, UUID) else 10**12


@pytest.mark.parametrize("label", LABELS)
def test_ids_that_cannot_be_do_not_exist(client: Client, label: str) -> None:
    for pk in ("0", "-1", "x", "9" * 30, "1' OR 1=1", "%2e%2e", "_add", UUID(int=0)):
        assert client.get(address(label, "change", pk)).status_code == 404, pk


def new_rows(brand: Brand, its: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What one would send to add a row for `brand`, referring to `its` rows."""
    numbering = {"prefix": "NEW-", "starting_number": 1, "number_width": 4, "quantity": 1, "scan_limit": 1}
    numbering["signed"] = "plain"
    tables = {"milestones-TOTAL_FORMS": 0, "milestones-INITIAL_FORMS": 0}
    return {
        "brands.apikey": {"brand": brand.pk, "name": "n", "kind": "app", "reason": "n"},
        "brands.staffrole": {
            "brand": brand.pk,
            "user": its["brands.user"].pk,
            "role": "owner",
            "password1": "a long new one",
            "password2": "a long new one",
        },
        "staff_login.invitation": {"brand": brand.pk, "role": "owner", "email": "new@example.com"},
        "campaigns.campaign": {"brand": brand.pk, "campaign_name": "n", "type": "order", "target_value": 1, **tables},
        "loyalty.webhookendpoint": {"brand": brand.pk, "url": "https://n.example/", "types": ["points.earned"]},
        "loyalty.brandlevel": {
            "brand": brand.pk,
            "name": "n",
            "threshold": 9,
            "scan_reward_type": "points",
            "scan_reward_value": 1,
        },
        "campaigns.earningrule": {
            "brand": brand.pk,
            "kind": "order-complete",
            "name": "Every order",
            "reward_type": "points",
            "reward_value": 1,
            "per": "event",
            "basis": "whole",
            "stacking": "add",
            "priority": 100,
        },
        "campaigns.eventkind": {
            "brand": brand.pk,
            "name": "shop-visit",
            "title": "n",
            "fields-TOTAL_FORMS": 0,
            "fields-INITIAL_FORMS": 0,
        },
        "loyalty.walletissuer": {
            "brand": brand.pk,
            "platform": "google",
            "service_account": SimpleUploadedFile("account.json", wallets.service_account()),
            "issuer_id": wallets.ISSUER_ID,
        },
        "authcodes.codeprefix": {"brand": brand.pk, "prefix": "ANOTHER-"},
        "authcodes.product": {"brand": brand.pk, "sku": "n", "title": "n"},
        "authcodes.batchrange": {"brand": brand.pk, "range_name": "n", **numbering},
        "authcodes.recall": {
            "batch": its["authcodes.batchrange"].pk,
            "recall_id": "n",
            "contact": "n",
            "message": "n",
            "reason": "n",
        },
    }


def add(client: Client, label: str, sent: dict[str, Any]) -> Any:
    """As a browser does it: the page of a recall is about its batch."""
    where = address(label, "add") + (f"?batch={sent['batch']}" if label == "authcodes.recall" else "")
    return client.post(where, sent)


SHOWN_ONCE = {"brands.apikey", "loyalty.webhookendpoint"}  # a new secret is in the answer itself
OWN = {"brands.savedlist", "jobs.reportschedule"}  # changed by the person they belong to alone
ADDABLE = sorted(new_rows(Brand(), dict.fromkeys(LABELS, Brand())))


@pytest.mark.parametrize("label", ADDABLE)
def test_rows_can_be_added_to_ones_own_brand_only(client: Client, own: Any, foreign: Any, label: str) -> None:
    count = page(label).model.objects.count

    before = count()
    refused = add(client, label, new_rows(*foreign)[label])
    assert refused.status_code == 200
    assert set(errors(refused)) <= {"brand", "batch", "user"}
    assert errors(refused)
    assert count() == before

    wanted = new_rows(*own)[label]
    if label == "brands.staffrole":  # a role is for a colleague, here of another brand of the same owner
        other = factories.brand()
        wanted, client = {"brand": own[0].pk, "user": staff(other).pk, "role": "support"}, browser(staff(own[0], other))
        before = count()
    taken = add(client, label, wanted)
    assert taken.status_code == (200 if label in SHOWN_ONCE else 302)
    assert count() == before + 1


RENAMED = [
    ("authcodes.product", "sku"),
    ("authcodes.batchrange", "range_name"),
    ("authcodes.labellayout", "name"),
    ("authcodes.printer", "name"),
    ("loyalty.brandlevel", "threshold"),
    ("campaigns.earningrule", "name"),
]


@pytest.mark.parametrize(("label", "field"), RENAMED)
def test_a_row_cannot_take_what_another_of_its_brand_has(brand: Brand, label: str, field: str) -> None:
    first, second = twins(brand)[label]
    client, its = browser(staff(brand)), address(label, "change", second.pk)

    refused = client.post(its, {**form_of(client.get(its)), field: getattr(first, field)})

    assert refused.status_code == 200
    assert "already exists" in str(errors(refused))
    before = getattr(second, field)
    second.refresh_from_db()
    assert getattr(second, field) == before


def twins(brand: Brand) -> dict[str, tuple[Any, Any]]:
    """Of each kind whose names are unique in a brand two rows that differ."""
    levels = factories.level(brand, "Silver", 100), factories.level(brand, "Gold", 200)
    rules = factories.earning_rule(brand, "log-user-login"), factories.earning_rule(brand, "order-complete")
    printers = [Printer.objects.create(brand=brand, name=name, scale="1.01") for name in ("Hall", "Office")]
    made = [
        LabelLayout.objects.create(brand=brand, name=name, label_width=70, label_height=30, parts=LAYOUT_PARTS)
        for name in ("Jars", "Tins")
    ]
    return {
        "authcodes.labellayout": (made[0], made[1]),
        "authcodes.product": (factories.product(brand), factories.product(brand)),
        "authcodes.batchrange": (factories.batch(brand), factories.batch(brand)),
        "authcodes.printer": (printers[0], printers[1]),
        "loyalty.brandlevel": levels,
        "campaigns.earningrule": rules,
    }


@pytest.mark.parametrize("name", ["product", "campaign"])
def test_own_batch_cannot_refer_to_another_brands_rows(client: Client, own: Any, foreign: Any, name: str) -> None:
    wanted = {
        **new_rows(*own)["authcodes.batchrange"],
        name: foreign[1][f"{'authcodes' if name == 'product' else 'campaigns'}.{name}"].pk,
    }

    refused = client.post(address("authcodes.batchrange", "add"), wanted)

    assert list(errors(refused)) == [name]
    assert not BatchRange.objects.filter(range_name="n").exists()


def test_own_batch_cannot_be_given_another_brands_campaign(client: Client, own: Any, foreign: Any) -> None:
    batch = own[1]["authcodes.batchrange"]
    its = address("authcodes.batchrange", "change", batch.pk)

    refused = client.post(its, {**form_of(client.get(its)), "campaign": foreign[1]["campaigns.campaign"].pk})

    assert list(errors(refused)) == ["campaign"]
    batch.refresh_from_db()
    assert batch.campaign == own[1]["campaigns.campaign"]


def test_row_stays_with_the_brand_it_was_made_for(own: Any, foreign: Any) -> None:
    client = browser(staff(own[0], foreign[0]))
    product = own[1]["authcodes.product"]
    its = address("authcodes.product", "change", product.pk)

    client.post(its, {**form_of(client.get(its)), "brand": foreign[0].pk, "title": "renamed"})

    product.refresh_from_db()
    assert (product.brand, product.title) == (own[0], "renamed")


def test_table_in_a_page_takes_no_rows_of_another_brand(client: Client, own: Any, foreign: Any) -> None:
    campaign, theirs = own[1]["campaigns.campaign"], Milestone.objects.get(campaign=foreign[1]["campaigns.campaign"])
    its = address("campaigns.campaign", "change", campaign.pk)
    sent = form_of(client.get(its))
    for name in ("milestone_id", "campaign"):
        sent[f"milestones-0-{name}"] = getattr(theirs, name if name == "milestone_id" else "campaign_id")

    client.post(its, {**sent, "milestones-0-reward_name": "stolen"})

    theirs.refresh_from_db()
    assert theirs.reward_name == f"{MARKER} reward"
    assert theirs.campaign == foreign[1]["campaigns.campaign"]


@pytest.mark.parametrize(
    ("label", "action"),
    [(label, action) for label in LABELS for action in [*page(label).actions, "delete_selected"]],
)
def test_actions_leave_another_brands_rows_alone(client: Client, foreign: Any, label: str, action: str) -> None:
    row = foreign[1][label]
    before = type(row).objects.filter(pk=row.pk).values().get()
    sent = {"action": action, "_selected_action": [str(row.pk)], "index": 0, "post": "yes", "select_across": 1}
    sent |= {"reason": "stolen"}

    response = client.post(address(label), sent, follow=True)

    assert response.status_code == 200
    assert MARKER not in text(response).lower()
    assert type(row).objects.filter(pk=row.pk).values().get() == before


class TestSeveralBrands:
    """Owner here, support there: each row knows which role counts."""

    @pytest.fixture
    def client(self, own: Any, foreign: Any) -> Client:
        person = staff(own[0])
        StaffRole.objects.create(user=person, brand=foreign[0], role="support")
        return browser(person)

    def test_sees_both_and_whose_each_row_is(self, client: Client) -> None:
        shown = text(client.get(address("authcodes.product")))

        assert all(words in shown for words in ("aardvark product", "zebra product", "aardvark brand", "zebra brand"))

    @pytest.mark.parametrize("label", ADDABLE)
    def test_adds_only_where_the_role_allows(self, client: Client, foreign: Any, label: str) -> None:
        before = page(label).model.objects.count()

        refused = add(client, label, new_rows(*foreign)[label])

        assert errors(refused)
        assert page(label).model.objects.count() == before

    @pytest.mark.parametrize("label", [label for label in LABELS if may("owner", CHANGE, label) and label not in OWN])
    def test_changes_only_where_the_role_allows(self, client: Client, own: Any, foreign: Any, label: str) -> None:
        sent = {"title": "changed"}

        hidden = 403 if may("support", VIEW, label) else 404
        assert client.post(address(label, "change", foreign[1][label].pk), sent).status_code == hidden
        assert client.post(address(label, "change", own[1][label].pk), sent).status_code in {200, 302}

    def test_acts_only_where_the_role_allows(self, client: Client, own: Any, foreign: Any) -> None:
        codes = [its["authcodes.authcode"] for _, its in (own, foreign)]

        client.post(
            address("authcodes.authcode"),
            {"action": "deactivate", "_selected_action": [code.pk for code in codes], "reason": "stolen"},
        )

        assert list(AuthCode.objects.deactivated()) == [codes[0]]

    def test_does_not_mix_brands_in_one_row(self, own: Any, foreign: Any) -> None:
        client = browser(staff(own[0], foreign[0]))
        wanted = {**new_rows(*own)["authcodes.batchrange"], "product": foreign[1]["authcodes.product"].pk}

        refused = client.post(address("authcodes.batchrange", "add"), wanted)

        assert errors(refused) == {"product": ["Choose one of the same brand."]}


@pytest.mark.parametrize(
    "lookup",
    ["password__startswith=pbkdf2", "email__startswith=a", "staff_roles__user__password__startswith=p", "id=1"],
)
def test_a_list_answers_only_what_its_filters_ask(db, lookup):
    brand = factories.brand()
    person = staff(brand, role="support")

    response = browser(person).get(f"{address('brands.user')}?{lookup}")

    assert response.status_code in {302, 400}


# --- Moments ---------------------------------------------------------------------------------------------------------


def test_a_form_shows_and_reads_moments_in_the_zone_of_the_rows_brand() -> None:
    here, there = factories.brand(time_zone="Asia/Kolkata"), factories.brand(time_zone="America/New_York")
    made = factories.campaign(here, starts_at=datetime(2026, 3, 1, 18, 30, tzinfo=UTC))
    for person in (staff(here), staff(here, there)):
        client, form = browser(person), address("campaigns.campaign", "change", made.pk)

        shown = client.get(form)

        assert 'value="2026-03-02"' in text(shown)
        assert 'value="00:00:00"' in text(shown)
        sent = form_of(shown) | {"starts_at_0": "2026-04-01", "starts_at_1": "09:00:00"}
        sent.pop("starts_at", None)
        assert client.post(form, sent).status_code == 302
        made.refresh_from_db()
        assert made.starts_at == datetime(2026, 4, 1, 3, 30, tzinfo=UTC)
        made.starts_at = datetime(2026, 3, 1, 18, 30, tzinfo=UTC)
        made.save()


def test_a_form_names_the_zone_of_what_cannot_be_changed() -> None:
    brand = factories.brand(time_zone="Asia/Kolkata")
    code = factories.code(brand)
    AuthCode.objects.update(created_at=datetime(2026, 3, 1, 18, 30, tzinfo=UTC))

    shown = browser(staff(brand)).get(address("authcodes.authcode", "change", code.pk))

    assert "2 Mar 2026, 00:00 IST" in text(shown)
