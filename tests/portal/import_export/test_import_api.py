"""Files of reference data over the API: uploads, previews, confirmations, and who can do what to whom."""

from dataclasses import replace

import pytest
from django.utils import timezone

from authcodes.models.products import Product
from brands.identity import api_keys
from brands.models.audit import AuditLogEntry
from brands.models.credentials import ApiKey
from config.serving.admission import API, MAX_IMPORT_BYTES, MAX_UPLOAD_BYTES, PAGES, most_bytes
from jobs import runner
from jobs.models import Job, StagedUpload
from portal.api.file_bodies import FORM_BYTES
from portal.import_export import tables
from tests.portal.import_export.conftest import CSV, XLSX, send
from tests.support import factories
from tests.support.api import Api, error
from tests.support.imports import workbook, workbook_of
from tests.support.portal import staff

pytestmark = pytest.mark.usefixtures("media")


PRODUCTS = "brand/imports/products"
BOUNDARY = "a-boundary"


def form(content, *, field="file", name="prices.csv"):
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n\r\n'
    return head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()


def confirm(caller, found, **headers):
    path = f"{PRODUCTS}/{found['id']}/confirm"
    return caller.post(path, {"digest": found["digest"] or ""}, **headers)


def stored(brand):
    return dict(Product.objects.filter(brand=brand).values_list("sku", "title"))


def test_hub_uploads_looks_at_the_preview_and_confirms_and_is_named_in_the_audit_log(brand, hub):
    factories.product(brand, sku="A", title="Before")
    uploaded = send(hub, "sku,title\nA,After\nB,New\n")

    found = uploaded.json()["data"]
    assert (uploaded.status_code, found["status"], found["file_name"]) == (201, "checked", "file.csv")
    assert found["counts"] == {"new": 1, "changed": 1, "unchanged": 0, "error": 0}
    assert found["rows"][0]["changes"] == [{"column": "title", "before": "Before", "after": "After"}]
    assert stored(brand) == {"A": "Before"}
    assert hub.get(f"{PRODUCTS}/{found['id']}").json()["data"] == found

    answer = confirm(hub, found, idempotency_key="once")

    assert (answer.status_code, answer.json()["data"]["status"]) == (200, "imported")
    assert stored(brand) == {"A": "After", "B": "New"}
    entries = AuditLogEntry.objects.filter(kind="authcodes.product", brand=brand)
    key = ApiKey.objects.get(brand=brand, kind="hub")
    assert {(it.action, it.actor, it.reason) for it in entries} == {
        ("Changed", key, "Import of file.csv"),
        ("Added", key, "Import of file.csv"),
    }
    assert confirm(hub, found, idempotency_key="once").json() == answer.json()
    assert confirm(hub, found).json()["message"] == "This file has already been imported."
    assert hub.get(f"{PRODUCTS}/{found['id']}").json()["data"]["status"] == "imported"


def test_form_and_workbook_are_taken_too(brand, hub):
    content = form(b"sku,title\nA,One\n")
    in_form = send(hub, content, content_type=f"multipart/form-data; boundary={BOUNDARY}")
    as_workbook = send(hub, workbook(["sku", "title"], [["B", "Two"]]), content_type=XLSX)

    assert in_form.json()["data"]["file_name"] == "prices.csv"
    assert error(confirm(hub, in_form.json()["data"])) == (404, "NOT_FOUND"), "the later upload took its place"
    assert confirm(hub, as_workbook.json()["data"]).status_code == 200
    assert stored(brand) == {"B": "Two"}


def test_errors_are_told_by_line_and_as_a_file_and_hold_everything_up(brand, hub):
    found = send(hub, "sku,title,retail_price\nA,Good,1\nB,,abc\n").json()["data"]

    assert found["counts"]["error"] == 1
    assert {(it["line"], it["column"]) for it in found["line_errors"]} == {(3, "title"), (3, "retail_price")}
    file = hub.get(f"{PRODUCTS}/{found['id']}/errors")
    assert file["Content-Disposition"] == 'attachment; filename="import-errors.csv"'
    assert file.content.decode("utf-8-sig").splitlines()[0] == "sku,title,retail_price,error"
    assert confirm(hub, found).json()["message"] == "Lines of the file have errors. Nothing was imported."
    assert stored(brand) == {}


def test_row_that_changed_since_the_preview_holds_the_import_up(brand, hub):
    factories.product(brand, sku="A", title="Before")
    found = send(hub, "sku,title\nA,After\nB,New\n").json()["data"]
    Product.objects.update(title="Somebody else's")

    refused = confirm(hub, found)

    assert error(refused) == (400, "VALIDATION_ERROR")
    assert stored(brand) == {"A": "Somebody else's"}
    again = hub.get(f"{PRODUCTS}/{found['id']}").json()["data"]
    assert again["digest"] != found["digest"]
    assert confirm(hub, again).status_code == 200


def test_staff_token_imports_what_the_role_may(brand, api):
    manager, support = (api.as_customer(staff(brand, role=role)) for role in ("manager", "support"))

    found = send(manager, "sku,title\nA,One\n").json()["data"]

    assert error(send(support, "sku,title\nA,One\n")) == (403, "FORBIDDEN")
    assert confirm(manager, found).status_code == 200
    assert AuditLogEntry.objects.get(kind="authcodes.product").user.staff_roles.get().role == "manager"


# --- Whose it is


def test_another_callers_and_another_brands_import_are_not_found(brand, api, hub):
    found = send(hub, "sku,title\nA,One\n").json()["data"]
    _, text = api_keys.create(brand=brand, kind="hub", name="x", at=timezone.now(), scopes=["admin"])
    other_key = replace(api, headers={"api-key": text})
    person = api.as_customer(staff(brand))
    elsewhere = api.hub(of=factories.brand())

    for caller in (other_key, person, elsewhere):
        path = f"{PRODUCTS}/{found['id']}"
        for refused in (caller.get(path), caller.get(f"{path}/errors"), confirm(caller, found)):
            assert error(refused) == (404, "NOT_FOUND")
    assert error(hub.get(f"brand/imports/levels/{found['id']}")) == (404, "NOT_FOUND")
    assert stored(brand) == {}


def test_key_that_lost_its_scope_confirms_nothing(brand, hub):
    found = send(hub, "sku,title\nA,One\n").json()["data"]
    ApiKey.objects.filter(brand=brand).update(scopes=["read"])

    assert error(confirm(hub, found)) == (403, "FORBIDDEN")


@pytest.mark.parametrize("resource", ["nothing", "authcodes-product", "members-x", "ProductS"])
def test_resource_that_is_none_is_not_found(hub, resource):
    assert error(send(hub, "sku,title\nA,One\n", resource=resource)) == (404, "NOT_FOUND")
    assert error(hub.get(f"brand/exports/{resource}")) == (404, "NOT_FOUND")


@pytest.mark.parametrize("import_id", ["0", "9" * 18, "-1", "x", "9" * 30])
def test_import_that_is_none_is_not_found(hub, import_id):
    assert error(hub.get(f"{PRODUCTS}/{import_id}")) == (404, "NOT_FOUND")


# --- Files that attack


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"%PDF-1.7 ...", "this is a PDF, not a CSV"),
        (b"PK\x03\x04 not an archive", "the file is damaged"),
        (b"sku,title\nA,\xff\xfe\n", "is not UTF-8 text"),
        (b"sku,title\nA,a\0b\n", "contains a NUL character"),
        (b"sku,title\n", "The file has no rows below the header."),
        (b"sku,title,brand_id\nA,B,1\n", "Unknown columns: “brand_id”."),
        (b"title\nA\n", "Missing columns: sku."),
        (workbook_of("<x/>", padding=200_000_000), "the file is too large when it is unpacked"),
        (workbook_of('<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'), "declares a document type"),
        (b"sku,title\n" + b"x" * 200_000, "has more than 100,000 characters"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_file_that_is_none_is_explained_and_kept_nowhere(hub, content, message):
    refused = send(hub, content)

    assert error(refused) == (400, "VALIDATION_ERROR")
    assert message in refused.json()["message"]
    assert StagedUpload.objects.count() == 0


@pytest.mark.parametrize(
    ("content", "content_type", "expected"),
    [
        (b"", CSV, (400, "VALIDATION_ERROR")),
        (b"{}", "application/json", (415, "UNSUPPORTED_MEDIA_TYPE")),
        (b"sku", "text/plain", (415, "UNSUPPORTED_MEDIA_TYPE")),
        (b"file=sku", "application/x-www-form-urlencoded", (415, "UNSUPPORTED_MEDIA_TYPE")),
        (b"garbage", f"multipart/form-data; boundary={BOUNDARY}", (400, "VALIDATION_ERROR")),
        (
            form(b"sku,title\nA,B\n", field="other"),
            f"multipart/form-data; boundary={BOUNDARY}",
            (400, "VALIDATION_ERROR"),
        ),
        (form(b"sku,title\nA,B\n"), "multipart/form-data", (400, "VALIDATION_ERROR")),
    ],
)
def test_body_that_holds_no_file_is_refused(hub, content, content_type, expected):
    assert error(send(hub, content, content_type=content_type)) == expected


def test_body_that_is_too_long_is_refused_before_it_is_read(hub, monkeypatch):
    monkeypatch.setattr("portal.api.file_bodies.MAX_LARGE_BYTES", 1_000)

    assert error(send(hub, b"x" * 20_000)) == (413, "PAYLOAD_TOO_LARGE")


def test_body_without_a_length_is_bounded_like_any_other(hub, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    chunked = hub.having(transfer_encoding="chunked")

    assert error(send(chunked, b"sku,title\n" + b"A,B\n" * 100)) == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize("name", ["..%2F..%2Fetc%2Fpasswd", "%0D%0AX:1", "%F0%9F%98%80" * 60, "%ED%A0%80"])
def test_name_of_a_file_is_no_path(hub, name):
    found = send(hub, "sku,title\nA,One\n", name=name)

    assert found.status_code == 201
    assert len(found.json()["data"]["file_name"]) <= 200
    staged = StagedUpload.objects.get()
    assert staged.file.name.startswith("imports/staged/")
    assert staged.file_name.isprintable()


@pytest.mark.parametrize("digest", ["", "x" * 65, "\0", "é", None, 5, "0" * 64])
def test_digest_that_is_none_confirms_nothing(brand, hub, digest):
    found = send(hub, "sku,title\nA,One\n").json()["data"]

    refused = hub.post(f"{PRODUCTS}/{found['id']}/confirm", {"digest": digest})

    assert error(refused) == (400, "VALIDATION_ERROR")
    assert stored(brand) == {}


# --- Large files


@pytest.mark.django_db(transaction=True)
def test_large_file_is_followed_by_its_jobs(monkeypatch):
    monkeypatch.setattr(tables, "MAX_ROWS", 3)
    brand = factories.brand()
    hub = Api(brand).hub()
    uploaded = send(hub, "sku,title\n" + "".join(f"S{number},Title\n" for number in range(8)))
    found = uploaded.json()["data"]
    assert (uploaded.status_code, found["status"], found["counts"], found["digest"]) == (202, "checking", None, None)
    assert error(confirm(hub, found)) == (400, "VALIDATION_ERROR")

    runner.run(found["job_id"])

    checked = hub.get(f"{PRODUCTS}/{found['id']}").json()["data"]
    assert (checked["status"], checked["counts"]["new"], len(checked["rows"])) == ("checked", 8, 8)
    answer = confirm(hub, checked, idempotency_key="once")
    again = confirm(hub, checked, idempotency_key="once")
    assert (answer.status_code, answer.json()) == (202, again.json())
    importing = answer.json()["data"]
    assert importing["status"] == "importing"
    runner.run(importing["job_id"])

    job = hub.get(f"brand/jobs/{importing['job_id']}").json()["data"]
    assert (job["status"], job["done"], job["total"]) == ("done", 8, 8)
    assert len(stored(brand)) == 8
    key = ApiKey.objects.get(brand=brand, kind="hub")
    assert {entry.actor for entry in AuditLogEntry.objects.filter(kind="authcodes.product")} == {key}
    assert Job.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_key_that_is_revoked_before_the_job_runs_imports_nothing(monkeypatch):
    monkeypatch.setattr(tables, "MAX_ROWS", 3)
    brand = factories.brand()
    hub = Api(brand).hub()
    found = send(hub, "sku,title\n" + "".join(f"S{number},Title\n" for number in range(8))).json()["data"]
    runner.run(found["job_id"])
    checked = hub.get(f"{PRODUCTS}/{found['id']}").json()["data"]
    importing = confirm(hub, checked).json()["data"]
    ApiKey.objects.update(revoked_at=timezone.now())

    runner.run(importing["job_id"])

    assert (Job.objects.get(pk=importing["job_id"]).status, stored(brand)) == ("failed", {})


@pytest.mark.parametrize(
    ("path", "kind", "most"),
    [
        ("/api/v1/brand/imports/products", API, MAX_IMPORT_BYTES),
        ("/api/v1/brand/products", API, 1_000_000),
        ("/api/v1/brand/importsx", API, 1_000_000),
        ("/admin/authcodes/import/add/", PAGES, MAX_UPLOAD_BYTES),
    ],
)
def test_only_files_of_imports_may_be_longer_than_other_bodies_of_the_api(path, kind, most):
    assert most_bytes(path, kind) == most
    assert MAX_IMPORT_BYTES > tables.MAX_LARGE_BYTES + FORM_BYTES
