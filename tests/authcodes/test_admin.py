"""The portal's pages of batches, codes, recalls and scans."""

from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from authcodes.admin.batches.forms import NewBatchForm
from authcodes.codes import batches
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.codes import AuthCode
from authcodes.recalls import recalls
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from brands.models.people import User
from brands.models.tenants import Brand
from jobs import runner
from jobs.models import Job
from tests.support import factories
from tests.support.portal import address, browser, errors, form_of, in_days, scan, text

pytestmark = pytest.mark.django_db


def batch_form_data(brand: Brand, **fields: Any) -> dict[str, Any]:
    defaults = {"range_name": "Autumn", "prefix": "AUT-", "starting_number": 7, "number_width": 6, "quantity": 25}
    return {"brand": brand.pk, **defaults, "scan_limit": 1, "signed": "plain", **fields}


def add_batch(client: Client, brand: Brand, **fields: Any) -> Any:
    return client.post(address("authcodes.batchrange", "add"), batch_form_data(brand, **fields))


def listed_rows(client: Client, label: str, **query: Any) -> list[Any]:
    return list(client.get(address(label), query).context["cl"].result_list)


def run_action(client: Client, label: str, action: str, *rows: Any, **fields: Any) -> str:
    form_data = {"action": action, "_selected_action": [row.pk for row in rows], **fields}
    return text(client.post(address(label), form_data, follow=True))


def test_batch_is_created_with_all_its_settings(client: Client, brand: Brand, settings: Any) -> None:
    settings.CODE_TAG_SECRETS = {3: "s" * 40}
    product, campaign = factories.product(brand), factories.campaign(brand)

    response = add_batch(
        client,
        brand,
        product=product.pk,
        campaign=campaign.pk,
        points_per_scan=5,
        scan_limit=3,
        expiration_date=in_days(90),
        signed="protected",
    )

    assert response.status_code == 302
    batch = BatchRange.objects.get()
    assert (batch.product, batch.campaign, batch.points_per_scan, batch.scan_limit) == (product, campaign, 5, 3)
    assert (batch.first_code, batch.last_code, batch.tag_version) == ("AUT-000007", "AUT-000031", 3)
    assert str(batch.expiration_date) == in_days(90)
    assert batch.created_by is not None
    assert batch.created_by.staff_roles.get().brand == brand


def test_codes_of_a_large_new_batch_are_generated_by_a_job(client: Client, brand: Brand) -> None:
    add_batch(client, brand, quantity=batches.MADE_AT_ONCE + 1)
    assert not AuthCode.objects.exists()

    job = Job.objects.get()
    runner.run(job.pk)

    assert (job.brand, job.created_by) == (brand, User.objects.get(is_staff=True))
    assert AuthCode.objects.count() == batches.MADE_AT_ONCE + 1
    assert BatchRange.objects.get().is_generated


@pytest.mark.parametrize(
    ("invalid_fields", "field"),
    [
        ({"range_name": ""}, "range_name"),
        ({"range_name": "Taken"}, "range_name"),
        ({"quantity": 0}, "quantity"),
        ({"quantity": 10**8}, "quantity"),
        ({"quantity": 10**30}, "quantity"),
        ({"prefix": "A/B"}, "prefix"),
        ({"prefix": "A" * 33}, "prefix"),
        ({"starting_number": -1}, "starting_number"),
        ({"starting_number": 999_990}, "number_width"),
        ({"number_width": 0}, "number_width"),
        ({"number_width": 19}, "number_width"),
        ({"scan_limit": 0}, "scan_limit"),
        ({"points_per_scan": -1}, "points_per_scan"),
        ({"expiration_date": in_days(-2)}, "expiration_date"),
        ({"expiration_date": "soon"}, "expiration_date"),
        ({"product": 10**12}, "product"),
        ({"campaign": "x"}, "campaign"),
        ({"prefix": "OLD-", "starting_number": 1}, "starting_number"),
        ({"signed": "protected"}, "signed"),
        ({"signed": ""}, "signed"),
        ({"signed": "on"}, "signed"),
    ],
)
def test_invalid_batch_gets_an_error_at_its_field(
    client: Client, brand: Brand, settings: Any, invalid_fields: dict[str, Any], field: str
) -> None:
    settings.CODE_TAG_SECRETS = {}
    factories.batch(brand, range_name="Taken", prefix="OLD-", number_width=6, quantity=9)

    response = add_batch(client, brand, **invalid_fields)

    assert list(errors(response)) == [field]
    assert BatchRange.objects.count() == 1


def test_empty_scan_limit_makes_a_batch_unlimited(client: Client, brand: Brand) -> None:
    add_batch(client, brand, scan_limit="")

    assert BatchRange.objects.get().scan_limit is None


def test_only_some_settings_of_a_batch_can_be_changed(client: Client, brand: Brand) -> None:
    batch, campaign = factories.batch(brand, quantity=2), factories.campaign(brand)
    url = address("authcodes.batchrange", "change", batch.pk)
    before = BatchRange.objects.filter(pk=batch.pk).values().get()
    editable = {
        "range_name": "Renamed",
        "points_per_scan": 9,
        "scan_limit": 4,
        "expiration_date": in_days(9),
        "campaign": campaign.pk,
        "after_campaign": "nothing",
    }

    client.post(
        url, {**editable, "reason": "Agreed", "quantity": 99, "prefix": "X", "product": "", "generated_count": 0}
    )

    after = BatchRange.objects.filter(pk=batch.pk).values().get()
    changed = {name: str(value) for name, value in after.items() if value != before[name]}
    columns = {"campaign": "campaign_id"}
    assert changed == {columns.get(name, name): str(value) for name, value in editable.items()}


def test_saving_a_batch_does_not_write_the_count_of_generated_codes(client: Client, brand: Brand) -> None:
    batch = factories.batch(brand)
    url = address("authcodes.batchrange", "change", batch.pk)
    form = form_of(client.get(url))

    with CaptureQueriesContext(connection) as queries:
        client.post(url, {**form, "range_name": "Renamed"})

    updates = [query["sql"] for query in queries if query["sql"].startswith('UPDATE "authcodes_batchrange"')]
    assert len(updates) == 1
    assert "generated_count" not in updates[0].partition("WHERE")[0]


def test_expiration_date_cannot_be_set_to_a_past_day(client: Client, brand: Brand) -> None:
    batch = factories.batch(brand)
    url = address("authcodes.batchrange", "change", batch.pk)

    response = client.post(url, {**form_of(client.get(url)), "expiration_date": in_days(-2)})

    assert list(errors(response)) == ["expiration_date"]


def test_expired_batch_can_still_be_renamed(client: Client, brand: Brand) -> None:
    batch = factories.expired_code(brand).batch
    url = address("authcodes.batchrange", "change", batch.pk)

    saved = client.post(url, {**form_of(client.get(url)), "range_name": "Renamed"})

    assert saved.status_code == 302


def test_list_of_batches_displays_the_progress_of_generation(client: Client, brand: Brand) -> None:
    batch = batches.create_batch(
        brand=brand,
        batch_settings=batches.BatchSettings(range_name="Autumn", quantity=40, prefix="P", signed=False),
        at=timezone.now(),
    )
    batches.start_generation(batch=batch, by=None)
    BatchRange.objects.filter(pk=batch.pk).update(generated_count=10)

    assert "Generating: 25 %" in text(client.get(address("authcodes.batchrange")))


def one_code_of_each(brand: Brand) -> dict[str, AuthCode]:
    codes = {name: factories.code(brand) for name in ("scanned", "unscanned", "deactivated", "recalled")}
    scanning.scan(scanned=codes["scanned"].code, context=ScanContext(at=timezone.now()))
    factories.deactivate(codes=[codes["deactivated"]], at=timezone.now())
    recall(codes["recalled"].batch)
    return {**codes, "expired": factories.expired_code(brand)}


def recall(batch: BatchRange) -> Recall:
    recall_fields = dict.fromkeys(("recall_id", "contact", "message", "reason"), "x")
    return recalls.recall_batch(batch=batch, at=timezone.now(), **recall_fields)


@pytest.mark.parametrize("status", ["scanned", "unscanned", "expired", "deactivated", "recalled"])
def test_codes_are_filtered_by_status(client: Client, brand: Brand, status: str) -> None:
    codes = one_code_of_each(brand)

    rows = listed_rows(client, "authcodes.authcode", status=status)

    assert codes[status] in rows
    if status != "unscanned":  # the other codes are unscanned too
        assert rows == [codes[status]]
    badges = text(client.get(address("authcodes.authcode"), {"q": codes[status].code}))
    assert f"{status.capitalize()}\n" in badges


def test_code_search_accepts_printed_text_and_prefixes(client: Client, brand: Brand) -> None:
    code, other = factories.batch(brand, prefix="AB-", quantity=2, signed=False).codes.order_by("code")

    assert listed_rows(client, "authcodes.authcode", q=code.code) == [code]
    assert listed_rows(client, "authcodes.authcode", q=f"https://x.example.com/s/{code.code}") == [code]
    assert listed_rows(client, "authcodes.authcode", q=f"{code.code}.0123456789A") == [code]
    assert listed_rows(client, "authcodes.authcode", q="AB-") == [code, other]
    assert listed_rows(client, "authcodes.authcode", q="B-") == []


def test_code_search_uses_the_index_of_codes(client: Client, brand: Brand) -> None:
    factories.batch(brand, prefix="AB-")

    with CaptureQueriesContext(connection) as queries:
        listed_rows(client, "authcodes.authcode", q="AB-")

    # Under row-level security, PostgreSQL does not turn LIKE into a range of an index.
    search_statements = [query["sql"] for query in queries if "'AB-'" in query["sql"]]
    assert search_statements
    assert all("\"code\" >= 'AB-'" in sql and "\"code\" < 'AB.'" in sql for sql in search_statements)


def test_selected_codes_are_deactivated_and_reactivated(client: Client, brand: Brand) -> None:
    code, other = factories.batch(brand, quantity=2).codes.all()

    assert "Deactivated: 1" in run_action(client, "authcodes.authcode", "deactivate", code, reason="stolen")
    assert "Deactivated: 1" in run_action(client, "authcodes.authcode", "deactivate", code, other, reason="stolen")
    assert "Reactivated: 1" in run_action(client, "authcodes.authcode", "reactivate", other, reason="found")

    assert list(AuthCode.objects.deactivated()) == [code]
    assert "Deactivated" in text(client.get(address("authcodes.authcode", "history", code.pk)))


def test_action_on_too_many_codes_is_rejected(client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portal.base.tenant_admin.MAX_AT_ONCE", 3)
    codes = factories.batch(brand, quantity=4).codes.all()

    page_text = run_action(client, "authcodes.authcode", "deactivate", codes[0], select_across=1, reason="stolen")

    assert "choose at most 3 rows" in page_text
    assert not AuthCode.objects.deactivated().exists()


def test_only_location_and_notes_of_a_code_can_be_edited(client: Client, brand: Brand) -> None:
    code = factories.code(brand)
    url = address("authcodes.authcode", "change", code.pk)

    with CaptureQueriesContext(connection) as queries:
        client.post(url, {"inventory_location": "Shelf 4", "location": "", "notes": "", "scan_count": 9, "code": "X"})

    code.refresh_from_db()
    assert (code.inventory_location, code.scan_count) == ("Shelf 4", 0)
    updates = [query["sql"] for query in queries if query["sql"].startswith('UPDATE "authcodes_authcode"')]
    assert len(updates) == 1
    assert "scan_count" not in updates[0].partition("WHERE")[0]


def test_codes_cannot_be_added_or_deleted(client: Client, brand: Brand) -> None:
    code = factories.code(brand)

    assert client.get(address("authcodes.authcode", "add")).status_code == 403
    assert client.post(address("authcodes.authcode", "delete", code.pk), {"post": "yes"}).status_code == 403


def test_batch_can_be_recalled_only_once(client: Client, brand: Brand) -> None:
    batch = factories.batch(brand)
    form_data = {"batch": batch.pk, "recall_id": "R-1", "contact": "call us", "message": "Stop.", "reason": "Glass"}

    url = f"{address('authcodes.recall', 'add')}?batch={batch.pk}"
    assert client.post(url, form_data).status_code == 302
    again = client.post(url, {**form_data, "recall_id": "R-2"})

    assert list(errors(again)) == ["batch"]
    recall_ = Recall.objects.get()
    assert (recall_.recall_id, recall_.batches.get(), recall_.recalled_by) == (
        "R-1",
        batch,
        User.objects.get(is_staff=True),
    )
    assert client.post(address("authcodes.recall", "change", recall_.pk), form_data).status_code == 403
    assert client.post(address("authcodes.recall", "delete", recall_.pk), {"post": "yes"}).status_code == 403


def test_error_raised_after_the_forms_check_is_displayed(
    client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another batch takes the codes between the form's check and its save."""
    check = NewBatchForm.clean

    def check_then_take_codes(form: NewBatchForm) -> dict[str, Any]:
        cleaned = check(form)
        factories.batch(brand, prefix="AUT-", number_width=6, starting_number=1, quantity=9)
        return cleaned

    monkeypatch.setattr(NewBatchForm, "clean", check_then_take_codes)

    answer = add_batch(client, brand)

    assert answer.status_code == 302
    assert next(str(message) for message in get_messages(answer.wsgi_request)).startswith("The codes AUT-000007")
    assert not BatchRange.objects.filter(range_name="Autumn").exists()


def test_scans_are_searched_by_code_and_customer_and_filtered_by_reason(
    client: Client, brand: Brand, customer: User
) -> None:
    code = factories.code(brand, prefix="AB-")
    matching, other = scan(code, user=customer), scan(factories.code(brand, prefix="CD-"))

    assert listed_rows(client, "authcodes.scan", q=customer.email) == [matching]
    assert listed_rows(client, "authcodes.scan", q=code.code) == [matching]
    assert listed_rows(client, "authcodes.scan", q="CD-") == [other]
    assert listed_rows(client, "authcodes.scan", reason__exact="accepted") == [other, matching]
    assert listed_rows(client, "authcodes.scan", reason__exact="expired") == []


def test_scan_by_another_brands_customer_does_not_name_them(client: Client, brand: Brand) -> None:
    other_brands_customer = factories.customer(factories.brand())
    scan(factories.code(brand), user=other_brands_customer, outcome="error", reason="other_brand")

    html = text(client.get(address("authcodes.scan")))

    assert other_brands_customer.email not in html
    assert "another brand" in html
    assert listed_rows(client, "authcodes.scan", q=other_brands_customer.email) == []


def test_scans_without_a_brand_are_visible_only_to_superusers(client: Client, brand: Brand) -> None:
    scanning.scan(scanned="NOBODY-KNOWS-1", context=ScanContext(at=timezone.now()))

    assert listed_rows(client, "authcodes.scan") == []
    assert len(listed_rows(browser(factories.user(is_staff=True, is_superuser=True)), "authcodes.scan")) == 1
