"""The audit log: every change of staff's stands in it, with the values before and after, and stays there."""

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
    its = address(label, "change", row.pk)
    return client.post(its, {**form_of(client.get(its)), **fields}, headers={"x-request-id": "req-1"})


def test_change_is_written_down_with_the_values_before_and_after(client: Client, owner: User, brand: Brand) -> None:
    product = factories.product(brand, title="Lamp")

    answer = edit(client, product, "authcodes.product", title="Desk lamp")

    entry = AuditLogEntry.objects.get()
    assert (entry.user, entry.brand, entry.request_id) == (owner, brand, answer["X-Request-ID"])
    assert entry.request_id != "req-1"  # which the caller sent
    assert (entry.kind, entry.row_id, entry.action) == ("authcodes.product", str(product.pk), "Changed")
    assert entry.changes == {"title": ["Lamp", "Desk lamp"]}


def test_saving_without_a_change_leaves_no_entry(client: Client, brand: Brand) -> None:
    edit(client, factories.product(brand), "authcodes.product")

    assert not AuditLogEntry.objects.exists()


def test_what_a_worker_counted_meanwhile_is_not_the_persons_doing(client: Client, brand: Brand) -> None:
    batch = factories.batch(brand, range_name="Old")
    its = address("authcodes.batchrange", "change", batch.pk)
    sent = form_of(client.get(its))
    type(batch).objects.filter(pk=batch.pk).update(generated_count=0)

    client.post(its, {**sent, "range_name": "New"})

    assert AuditLogEntry.objects.get().changes == {"range_name": ["Old", "New"]}


def test_new_row_is_written_down_with_its_values(client: Client, brand: Brand) -> None:
    client.post(address("authcodes.product", "add"), {"brand": brand.pk, "sku": "L-1", "title": "Lamp"})

    entry = AuditLogEntry.objects.get()
    assert (entry.action, entry.row_name) == ("Added", str(brand.products.get()))
    assert entry.changes["title"] == [None, "Lamp"]
    assert entry.changes["brand"] == [None, f"{brand} (#{brand.pk})"]


def test_deletion_keeps_what_the_row_was(client: Client, brand: Brand) -> None:
    staff_role = StaffRole.objects.create(user=factories.user(email="nora@example.com"), brand=brand, role="support")

    client.post(address("brands.staffrole", "delete", staff_role.pk), {"post": "yes"})

    entry = AuditLogEntry.objects.get()
    assert (entry.action, entry.row_id) == ("Deleted", str(staff_role.pk))
    assert entry.changes["role"] == ["support", None]
    assert entry.changes["user"][0].startswith("nora@example.com")


def test_tables_inside_a_page_are_written_down_with_it(client: Client, brand: Brand) -> None:
    campaign = factories.campaign(brand)
    factories.milestone(campaign, 3, reward_name="A mug")

    edit(client, campaign, "campaigns.campaign", **{"milestones-0-reward_name": "A cup"})

    assert Milestone.objects.get().reward_name == "A cup"
    [(name, values)] = AuditLogEntry.objects.get().changes.items()
    assert "reward_name" in name
    assert values == ["A mug", "A cup"]


def test_action_is_written_down_for_each_row_with_its_values(client: Client, owner: User, brand: Brand) -> None:
    members = [factories.account(factories.customer(brand), brand) for _ in range(2)]

    client.post(
        address("loyalty.userpoints"),
        {"action": "block", "reason": "Agreed", "_selected_action": [member.pk for member in members]},
    )

    entries = AuditLogEntry.objects.filter(action="Blocked", user=owner, brand=brand)
    assert {entry.row_id for entry in entries} == {str(member.pk) for member in members}
    assert {tuple(entry.changes["status"]) for entry in entries} == {("active", "blocked")}


def test_action_and_its_entries_stand_or_fall_together(
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


def test_passwords_never_get_into_the_trail(owner: User, brand: Brand) -> None:
    client = browser(factories.user(is_staff=True, is_superuser=True))
    secret = "a long one, 7"

    edit(client, owner, "brands.user", password1=secret, password2=secret, first_name="Anna")

    entry = AuditLogEntry.objects.get()
    owner.refresh_from_db()
    assert owner.check_password(secret)
    assert entry.changes == {"first_name": [None, "Anna"], "password": ["•••", "•••"]}
    assert entry.brand == brand
    assert owner.password not in text(client.get(address("brands.auditlogentry", "change", entry.pk)))


def test_new_colleagues_password_is_not_in_the_trail(brand: Brand) -> None:
    client = browser(factories.user(is_staff=True, is_superuser=True))
    sent = {"email": "nora@example.com", "role": "printer", "password1": "a long one, 7", "password2": "a long one, 7"}

    client.post(address("brands.user", "add"), {**sent, "brand": brand.pk})

    [entry] = AuditLogEntry.objects.all()
    assert entry.changes["role"] == [None, f"printer ({brand})"]
    stored = str(AuditLogEntry.objects.values_list())
    assert "a long one" not in stored
    assert User.objects.get(email="nora@example.com").password not in stored


def test_own_password_change_is_written_down(client: Client, owner: User) -> None:
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


def test_key_leaves_its_beginning_only(client: Client, brand: Brand) -> None:
    client.post(
        address("brands.apikey", "add"),
        {"brand": brand.pk, "name": "Shop", "kind": "hub", "scopes": ["read"], "reason": "New shop"},
    )

    entry, key = AuditLogEntry.objects.get(), ApiKey.objects.get()
    assert entry.reason == "New shop"
    assert entry.changes["prefix"] == [None, key.prefix]
    assert "digest" not in entry.changes


def test_recall_and_its_lifting_stand_there_with_their_reasons(client: Client, brand: Brand) -> None:
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
def test_database_refuses_to_change_or_delete_entries(client: Client, brand: Brand, statement: str) -> None:
    edit(client, factories.product(brand), "authcodes.product", title="Desk lamp")

    with (
        pytest.raises(IntegrityError, match="append-only"),
        transaction.atomic(),
        connection.as_owner(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


def test_history_of_a_row_shows_what_changed(client: Client, brand: Brand) -> None:
    product = factories.product(brand, title="Lamp")
    answer = edit(client, product, "authcodes.product", title="Desk lamp")
    edit(client, factories.product(brand), "authcodes.product", title="Another row")

    page = client.get(address("authcodes.product", "history", product.pk))

    assert [entry.row_id for entry in page.context["entries"]] == [str(product.pk)]
    assert all(expected_text in text(page) for expected_text in ("Lamp</td>", "Desk lamp</td>", answer["X-Request-ID"]))


def test_history_has_pages(client: Client, owner: User, brand: Brand) -> None:
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
    its = address("authcodes.product", "history", product.pk)

    assert "Act 59." in text(client.get(its))
    assert "Act 9." in text(client.get(its, {"p": 2}))
    assert "Act 9." not in text(client.get(its))


def test_what_another_brand_did_with_a_shared_person_stays_there(brand: Brand, client: Client) -> None:
    elsewhere = factories.brand(name="Zebra")
    shared = factories.customer(brand)
    StaffRole.objects.create(user=shared, brand=elsewhere, role="support")
    AuditLogEntry.objects.create(
        brand=elsewhere, kind="brands.user", row_id=shared.pk, row_name="x", action="Zebra did something"
    )

    assert "Zebra did" not in text(client.get(address("brands.user", "history", shared.pk)))


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("manager", 200), ("printer", 403), ("support", 403)])
def test_trail_is_for_owners_and_managers(brand: Brand, role: str, status: int) -> None:
    assert browser(staff(brand, role=role)).get(address("brands.auditlogentry")).status_code == status


def test_trail_is_filtered_by_person_kind_and_day(client: Client, owner: User, brand: Brand) -> None:
    other = browser(staff(brand, role="manager"))
    answer = edit(client, factories.product(brand), "authcodes.product", title="Mine")
    edit(other, factories.campaign(brand), "campaigns.campaign", campaign_name="Theirs")

    def found(**query: Any) -> list[str]:
        rows = client.get(address("brands.auditlogentry"), query).context["cl"].result_list
        return [entry.kind for entry in rows]

    assert found() == ["campaigns.campaign", "authcodes.product"]
    assert found(user__id__exact=owner.pk) == ["authcodes.product"]
    assert found(kind="campaigns.campaign") == ["campaigns.campaign"]
    assert found(at_from="2001-01-01", at_to="2001-01-02") == []
    assert found(q=answer["X-Request-ID"]) == ["authcodes.product"]
    assert found(q="req-1") == []


def test_list_of_the_trail_asks_as_much_for_many_entries_as_for_one(client: Client, owner: User, brand: Brand) -> None:
    def add(how_many: int) -> None:
        AuditLogEntry.objects.bulk_create(
            AuditLogEntry(brand=brand, user=owner, kind="x.y", row_id=n, row_name="x", action="x")
            for n in range(how_many)
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
def test_codes_that_are_switched_off_stand_in_the_history_of_their_batch(
    owner: User, brand: Brand, one_by_one: bool
) -> None:
    batch = factories.batch(brand, quantity=3)
    order = bulk_changes.CodeChangeRequest(CodeChange.Kind.DEACTIVATED, reason="Stolen")
    codes = list(batch.codes.order_by("code"))

    if one_by_one:
        bulk_changes.change_codes(codes=codes[:2], requested=order, by=owner, at=timezone.now())
    else:
        stretch = CodeRange(batch, codes[0].code, codes[1].code, 2)
        bulk_changes.change(codes=stretch, requested=order, by=owner, at=timezone.now())

    entry = AuditLogEntry.objects.get()
    assert (entry.kind, entry.row_id) == ("authcodes.batchrange", str(batch.pk))
    assert (entry.user, entry.brand, entry.reason) == (owner, brand, "Stolen")
    assert entry.changes == {"codes": [None, f"2: {codes[0].code} … {codes[1].code}"]}


def test_what_was_done_with_an_import_is_written_down(client: Client, owner: User, brand: Brand) -> None:
    upload = Import.objects.create(
        brand=brand, kind="list", file="x.csv", file_name="x.csv", uploaded_by=owner, status="checked"
    )

    client.post(f"/admin/authcodes/import/{upload.pk}/discard/")

    entry = AuditLogEntry.objects.get()
    assert (entry.kind, entry.row_id, entry.user) == ("authcodes.import", str(upload.pk), owner)
    assert entry.action.startswith("Discarded")
