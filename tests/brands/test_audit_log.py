"""The audit log has every change by staff, with the values before and after, and cannot be edited."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from authcodes.codes import bulk_changes
from authcodes.codes.ranges import CodeRange
from authcodes.models.batches import Recall
from authcodes.models.code_history import CodeChange
from authcodes.models.imports import Import
from brands.models.audit import AuditLogEntry
from brands.models.credentials import ApiKey
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from campaigns.models.campaigns import Milestone
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(owner: User) -> Client:
    return browser(owner)


def edit(client: Client, row: Any, label: str, **fields: Any) -> Any:
    url = address(label, "change", row.pk)
    return client.post(url, {**form_of(client.get(url)), **fields}, headers={"x-request-id": "req-1"})


def test_change_is_logged_with_the_values_before_and_after(client: Client, owner: User, brand: Brand) -> None:
    product = factories.product(brand, title="Lamp")

    answer = edit(client, product, "authcodes.product", title="Desk lamp")

    entry = AuditLogEntry.objects.get()
    assert (entry.user, entry.brand, entry.request_id) == (owner, brand, answer["X-Request-ID"])
    assert entry.request_id != "req-1"  # that is the id which the caller sent
    assert (entry.kind, entry.row_id, entry.action) == ("authcodes.product", str(product.pk), "Changed")
    assert entry.changes == {"title": ["Lamp", "Desk lamp"]}


def test_saving_without_a_change_logs_nothing(client: Client, brand: Brand) -> None:
    edit(client, factories.product(brand), "authcodes.product")

    assert not AuditLogEntry.objects.exists()


def test_concurrent_change_by_a_worker_is_not_logged_for_the_user(client: Client, brand: Brand) -> None:
    batch = factories.batch(brand, range_name="Old")
    url = address("authcodes.batchrange", "change", batch.pk)
    form_data = form_of(client.get(url))
    type(batch).objects.filter(pk=batch.pk).update(generated_count=0)

    client.post(url, {**form_data, "range_name": "New"})

    assert AuditLogEntry.objects.get().changes == {"range_name": ["Old", "New"]}


def test_new_row_is_logged_with_its_values(client: Client, brand: Brand) -> None:
    client.post(address("authcodes.product", "add"), {"brand": brand.pk, "sku": "L-1", "title": "Lamp"})

    entry = AuditLogEntry.objects.get()
    assert (entry.action, entry.row_name) == ("Added", str(brand.products.get()))
    assert entry.changes["title"] == [None, "Lamp"]
    assert entry.changes["brand"] == [None, f"{brand} (#{brand.pk})"]


def test_deletion_is_logged_with_the_values_of_the_row(client: Client, brand: Brand) -> None:
    staff_role = StaffRole.objects.create(user=factories.user(email="nora@example.com"), brand=brand, role="support")

    client.post(address("brands.staffrole", "delete", staff_role.pk), {"post": "yes"})

    entry = AuditLogEntry.objects.get()
    assert (entry.action, entry.row_id) == ("Deleted", str(staff_role.pk))
    assert entry.changes["role"] == ["support", None]
    assert entry.changes["user"][0].startswith("nora@example.com")


def test_change_of_an_inline_row_is_logged_with_its_page(client: Client, brand: Brand) -> None:
    campaign = factories.campaign(brand)
    factories.milestone(campaign, 3, reward_name="A mug")

    edit(client, campaign, "campaigns.campaign", **{"milestones-0-reward_name": "A cup"})

    assert Milestone.objects.get().reward_name == "A cup"
    [(name, values)] = AuditLogEntry.objects.get().changes.items()
    assert "reward_name" in name
    assert values == ["A mug", "A cup"]


def test_action_is_logged_for_each_row_with_its_values(client: Client, owner: User, brand: Brand) -> None:
    members = [factories.account(factories.customer(brand), brand) for _ in range(2)]

    client.post(
        address("loyalty.userpoints"),
        {"action": "block", "reason": "Agreed", "_selected_action": [member.pk for member in members]},
    )

    entries = AuditLogEntry.objects.filter(action="Blocked", user=owner, brand=brand)
    assert {entry.row_id for entry in entries} == {str(member.pk) for member in members}
    assert {tuple(entry.changes["status"]) for entry in entries} == {("active", "blocked")}


def test_action_is_rolled_back_if_its_entries_cannot_be_stored(
    client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = factories.account(factories.customer(brand), brand)

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr("brands.audit_log.record", fail)
    with pytest.raises(RuntimeError), transaction.atomic():
        client.post(
            address("loyalty.userpoints"), {"action": "block", "reason": "Agreed", "_selected_action": [member.pk]}
        )

    member.refresh_from_db()
    assert member.status == "active"


def test_passwords_are_not_in_the_audit_log(owner: User, brand: Brand) -> None:
    client = browser(factories.user(is_staff=True, is_superuser=True))
    secret = "a long one, 7"

    edit(client, owner, "brands.user", password1=secret, password2=secret, first_name="Anna")

    entry = AuditLogEntry.objects.get()
    owner.refresh_from_db()
    assert owner.check_password(secret)
    assert entry.changes == {"first_name": [None, "Anna"], "password": ["•••", "•••"]}
    assert entry.brand == brand
    assert owner.password not in text(client.get(address("brands.auditlogentry", "change", entry.pk)))


def test_password_of_a_new_colleague_is_not_in_the_audit_log(brand: Brand) -> None:
    client = browser(factories.user(is_staff=True, is_superuser=True))
    form_data = {
        "email": "nora@example.com",
        "role": "printer",
        "password1": "a long one, 7",
        "password2": "a long one, 7",
    }

    client.post(address("brands.user", "add"), {**form_data, "brand": brand.pk})

    [entry] = AuditLogEntry.objects.all()
    assert entry.changes["role"] == [None, f"printer ({brand})"]
    stored = str(AuditLogEntry.objects.values_list())
    assert "a long one" not in stored
    assert User.objects.get(email="nora@example.com").password not in stored


def test_change_of_the_own_password_is_logged(client: Client, owner: User) -> None:
    owner.set_password("old one, 12345")
    owner.save()
    client.force_login(owner)

    client.post(
        "/admin/password_change/",
        {"old_password": "old one, 12345", "new_password1": "a long one, 7", "new_password2": "a long one, 7"},
    )

    owner.refresh_from_db()
    assert owner.check_password("a long one, 7")
    assert AuditLogEntry.objects.get().changes == {"password": ["•••", "•••"]}


def test_only_the_prefix_of_an_api_key_is_logged(client: Client, brand: Brand) -> None:
    client.post(
        address("brands.apikey", "add"),
        {"brand": brand.pk, "name": "Shop", "kind": "hub", "scopes": ["read"], "reason": "New shop"},
    )

    entry, key = AuditLogEntry.objects.get(), ApiKey.objects.get()
    assert entry.reason == "New shop"
    assert entry.changes["prefix"] == [None, key.prefix]
    assert "digest" not in entry.changes


def test_recall_and_its_withdrawal_are_logged_with_their_reasons(client: Client, brand: Brand) -> None:
    batch = factories.batch(brand)
    recall_fields = {"recall_id": "R-1", "contact": "call us", "message": "Stop.", "reason": "Glass inside"}
    client.post(f"{address('authcodes.recall', 'add')}?batch={batch.pk}", {**recall_fields, "batch": batch.pk})
    client.post(address("authcodes.recall", "withdraw", Recall.objects.get().pk), {"reason": "Wrong batch"})

    entries = AuditLogEntry.objects.order_by("id").values_list("kind", "action", "reason")
    assert sorted(entries) == sorted(
        [
            ("authcodes.recall", "Added", "Glass inside"),
            ("authcodes.batchrange", "Recalled: R-1", "Glass inside"),
            ("authcodes.recall", "Withdrawn", "Wrong batch"),
            ("authcodes.batchrange", "Recall withdrawn: R-1", "Wrong batch"),
        ]
    )


@pytest.mark.parametrize(
    "statement", ["UPDATE brands_auditlogentry SET reason = 'x'", "DELETE FROM brands_auditlogentry"]
)
def test_database_rejects_changes_and_deletions_of_entries(client: Client, brand: Brand, statement: str) -> None:
    edit(client, factories.product(brand), "authcodes.product", title="Desk lamp")

    with (
        pytest.raises(IntegrityError, match="append-only"),
        transaction.atomic(),
        connection.as_owner(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


def test_history_of_a_row_shows_its_changes(client: Client, brand: Brand) -> None:
    product = factories.product(brand, title="Lamp")
    answer = edit(client, product, "authcodes.product", title="Desk lamp")
    edit(client, factories.product(brand), "authcodes.product", title="Another row")

    page = client.get(address("authcodes.product", "history", product.pk))

    assert [entry.row_id for entry in page.context["entries"]] == [str(product.pk)]
    assert all(expected_text in text(page) for expected_text in ("Lamp</td>", "Desk lamp</td>", answer["X-Request-ID"]))


def test_history_is_paginated(client: Client, owner: User, brand: Brand) -> None:
    product = factories.product(brand)
    AuditLogEntry.objects.bulk_create(
        AuditLogEntry(
            brand=brand,
            user=owner,
            kind="authcodes.product",
            row_id=product.pk,
            row_name="x",
            action=f"Act {number}.",
        )
        for number in range(60)
    )
    url = address("authcodes.product", "history", product.pk)

    assert "Act 59." in text(client.get(url))
    assert "Act 9." in text(client.get(url, {"p": 2}))
    assert "Act 9." not in text(client.get(url))


def test_history_of_a_shared_user_hides_entries_of_another_brand(brand: Brand, client: Client) -> None:
    other_brand = factories.brand(name="Zebra")
    shared = factories.customer(brand)
    StaffRole.objects.create(user=shared, brand=other_brand, role="support")
    AuditLogEntry.objects.create(
        brand=other_brand, kind="brands.user", row_id=shared.pk, row_name="x", action="Zebra did something"
    )

    assert "Zebra did" not in text(client.get(address("brands.user", "history", shared.pk)))


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("manager", 200), ("printer", 403), ("support", 403)])
def test_audit_log_is_for_owners_and_managers(brand: Brand, role: str, status: int) -> None:
    assert browser(staff(brand, role=role)).get(address("brands.auditlogentry")).status_code == status


def test_audit_log_is_filtered_by_user_kind_and_day(client: Client, owner: User, brand: Brand) -> None:
    other = browser(staff(brand, role="manager"))
    answer = edit(client, factories.product(brand), "authcodes.product", title="Mine")
    edit(other, factories.campaign(brand), "campaigns.campaign", campaign_name="Theirs")

    def kinds(**query: Any) -> list[str]:
        rows = client.get(address("brands.auditlogentry"), query).context["cl"].result_list
        return [entry.kind for entry in rows]

    assert kinds() == ["campaigns.campaign", "authcodes.product"]
    assert kinds(user__id__exact=owner.pk) == ["authcodes.product"]
    assert kinds(kind="campaigns.campaign") == ["campaigns.campaign"]
    assert kinds(at_from="2001-01-01", at_to="2001-01-02") == []
    assert kinds(q=answer["X-Request-ID"]) == ["authcodes.product"]
    assert kinds(q="req-1") == []


def test_audit_log_query_count_does_not_grow_with_entries(client: Client, owner: User, brand: Brand) -> None:
    def add(count: int) -> None:
        AuditLogEntry.objects.bulk_create(
            AuditLogEntry(brand=brand, user=owner, kind="x.y", row_id=n, row_name="x", action="x") for n in range(count)
        )

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            client.get(address("brands.auditlogentry"))
        return len(captured)

    add(1)
    few = queries()
    add(29)

    assert queries() == few <= 15


@pytest.mark.parametrize("one_by_one", [True, False])
def test_deactivated_codes_are_logged_in_the_history_of_their_batch(
    owner: User, brand: Brand, one_by_one: bool
) -> None:
    batch = factories.batch(brand, quantity=3)
    change_request = bulk_changes.CodeChangeRequest(CodeChange.Kind.DEACTIVATED, reason="Stolen")
    codes = list(batch.codes.order_by("code"))

    if one_by_one:
        bulk_changes.change_codes(codes=codes[:2], requested=change_request, by=owner, at=timezone.now())
    else:
        code_range = CodeRange(batch, codes[0].code, codes[1].code, 2)
        bulk_changes.change(codes=code_range, requested=change_request, by=owner, at=timezone.now())

    entry = AuditLogEntry.objects.get()
    assert (entry.kind, entry.row_id) == ("authcodes.batchrange", str(batch.pk))
    assert (entry.user, entry.brand, entry.reason) == (owner, brand, "Stolen")
    assert entry.changes == {"codes": [None, f"2: {codes[0].code} … {codes[1].code}"]}


def test_discarding_an_import_is_logged(client: Client, owner: User, brand: Brand) -> None:
    upload = Import.objects.create(
        brand=brand, kind="list", file="x.csv", file_name="x.csv", uploaded_by=owner, status="checked"
    )

    client.post(f"/admin/authcodes/import/{upload.pk}/discard/")

    entry = AuditLogEntry.objects.get()
    assert (entry.kind, entry.row_id, entry.user) == ("authcodes.import", str(upload.pk), owner)
    assert entry.action.startswith("Discarded")
