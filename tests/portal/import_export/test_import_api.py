"""Files of reference data over the API: uploads, previews, confirmations and their permissions."""

from dataclasses import replace

import pytest
from django.test.client import FakePayload
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
from tests.portal.import_export.conftest import CSV, XLSX, send_file
from tests.support import factories
from tests.support.api import Api, error
from tests.support.imports import workbook, workbook_of
from tests.support.portal import staff

pytestmark = pytest.mark.usefixtures("media")


PRODUCTS = "brand/imports/products"
BOUNDARY = "a-boundary"


def multipart_body(content, *, field="file", name="prices.csv"):
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n\r\n'
    return head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()


def confirm(caller, preview, **headers):
    path = f"{PRODUCTS}/{preview['id']}/confirm"
    return caller.post(path, {"digest": preview["digest"] or ""}, **headers)


def titles_by_sku(brand):
    return dict(Product.objects.filter(brand=brand).values_list("sku", "title"))


def test_hub_uploads_confirms_and_is_named_in_the_audit_log(brand, hub):
    factories.product(brand, sku="A", title="Before")
    uploaded = send_file(hub, "sku,title\nA,After\nB,New\n")

    preview = uploaded.json()["data"]
    assert (uploaded.status_code, preview["status"], preview["file_name"]) == (201, "checked", "file.csv")
    assert preview["counts"] == {"new": 1, "changed": 1, "unchanged": 0, "error": 0}
    assert preview["rows"][0]["changes"] == [{"column": "title", "before": "Before", "after": "After"}]
    assert titles_by_sku(brand) == {"A": "Before"}
    assert hub.get(f"{PRODUCTS}/{preview['id']}").json()["data"] == preview

    response = confirm(hub, preview, idempotency_key="once")

    assert (response.status_code, response.json()["data"]["status"]) == (200, "imported")
    assert titles_by_sku(brand) == {"A": "After", "B": "New"}
    entries = AuditLogEntry.objects.filter(kind="authcodes.product", brand=brand)
    key = ApiKey.objects.get(brand=brand, kind="hub")
    assert {(entry.action, entry.actor, entry.reason) for entry in entries} == {
        ("Changed", key, "Import of file.csv"),
        ("Added", key, "Import of file.csv"),
    }
    assert confirm(hub, preview, idempotency_key="once").json() == response.json()
    assert confirm(hub, preview).json()["message"] == "This file has already been imported."
    assert hub.get(f"{PRODUCTS}/{preview['id']}").json()["data"]["status"] == "imported"


def test_multipart_form_and_workbook_are_accepted(brand, hub):
    content = multipart_body(b"sku,title\nA,One\n")
    form_upload = send_file(hub, content, content_type=f"multipart/form-data; boundary={BOUNDARY}")
    workbook_upload = send_file(hub, workbook(["sku", "title"], [["B", "Two"]]), content_type=XLSX)

    assert form_upload.json()["data"]["file_name"] == "prices.csv"
    assert error(confirm(hub, form_upload.json()["data"])) == (404, "NOT_FOUND"), "replaced by the later upload"
    assert confirm(hub, workbook_upload.json()["data"]).status_code == 200
    assert titles_by_sku(brand) == {"B": "Two"}


def test_errors_are_listed_by_line_and_as_a_file_and_block_the_import(brand, hub):
    preview = send_file(hub, "sku,title,retail_price\nA,Good,1\nB,,abc\n").json()["data"]

    assert preview["counts"]["error"] == 1
    assert {(line_error["line"], line_error["column"]) for line_error in preview["line_errors"]} == {
        (3, "title"),
        (3, "retail_price"),
    }
    file = hub.get(f"{PRODUCTS}/{preview['id']}/errors")
    assert file["Content-Disposition"] == 'attachment; filename="import-errors.csv"'
    assert file.content.decode("utf-8-sig").splitlines()[0] == "sku,title,retail_price,error"
    assert confirm(hub, preview).json()["message"] == "Lines of the file have errors. Nothing was imported."
    assert titles_by_sku(brand) == {}


def test_row_changed_since_the_preview_blocks_the_import(brand, hub):
    factories.product(brand, sku="A", title="Before")
    preview = send_file(hub, "sku,title\nA,After\nB,New\n").json()["data"]
    Product.objects.update(title="Somebody else's")

    rejected = confirm(hub, preview)

    assert error(rejected) == (400, "VALIDATION_ERROR")
    assert titles_by_sku(brand) == {"A": "Somebody else's"}
    new_preview = hub.get(f"{PRODUCTS}/{preview['id']}").json()["data"]
    assert new_preview["digest"] != preview["digest"]
    assert confirm(hub, new_preview).status_code == 200


def test_staff_token_can_import_what_its_role_allows(brand, api):
    manager, support = (api.as_customer(staff(brand, role=role)) for role in ("manager", "support"))

    preview = send_file(manager, "sku,title\nA,One\n").json()["data"]

    assert error(send_file(support, "sku,title\nA,One\n")) == (403, "FORBIDDEN")
    assert confirm(manager, preview).status_code == 200
    assert AuditLogEntry.objects.get(kind="authcodes.product").user.staff_roles.get().role == "manager"


# --- Ownership of an import


def test_import_of_another_caller_or_brand_is_not_found(brand, api, hub):
    preview = send_file(hub, "sku,title\nA,One\n").json()["data"]
    _, key_text = api_keys.create(brand=brand, kind="hub", name="x", at=timezone.now(), scopes=["admin"])
    other_key = replace(api, headers={"api-key": key_text})
    staff_token = api.as_customer(staff(brand))
    other_brand_key = api.hub(brand=factories.brand())

    for caller in (other_key, staff_token, other_brand_key):
        path = f"{PRODUCTS}/{preview['id']}"
        for rejected in (caller.get(path), caller.get(f"{path}/errors"), confirm(caller, preview)):
            assert error(rejected) == (404, "NOT_FOUND")
    assert error(hub.get(f"brand/imports/levels/{preview['id']}")) == (404, "NOT_FOUND")
    assert titles_by_sku(brand) == {}


def test_key_that_lost_its_scope_cannot_confirm(brand, hub):
    preview = send_file(hub, "sku,title\nA,One\n").json()["data"]
    ApiKey.objects.filter(brand=brand).update(scopes=["read"])

    assert error(confirm(hub, preview)) == (403, "FORBIDDEN")


@pytest.mark.parametrize("resource", ["nothing", "authcodes-product", "members-x", "ProductS"])
def test_unknown_resource_is_not_found(hub, resource):
    assert error(send_file(hub, "sku,title\nA,One\n", resource=resource)) == (404, "NOT_FOUND")
    assert error(hub.get(f"brand/exports/{resource}")) == (404, "NOT_FOUND")


@pytest.mark.parametrize("import_id", ["0", "9" * 18, "-1", "x", "9" * 30])
def test_unknown_import_id_is_not_found(hub, import_id):
    assert error(hub.get(f"{PRODUCTS}/{import_id}")) == (404, "NOT_FOUND")


# --- Hostile files


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
def test_invalid_file_is_explained_and_not_stored(hub, content, message):
    rejected = send_file(hub, content)

    assert error(rejected) == (400, "VALIDATION_ERROR")
    assert message in rejected.json()["message"]
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
            multipart_body(b"sku,title\nA,B\n", field="other"),
            f"multipart/form-data; boundary={BOUNDARY}",
            (400, "VALIDATION_ERROR"),
        ),
        (multipart_body(b"sku,title\nA,B\n"), "multipart/form-data", (400, "VALIDATION_ERROR")),
    ],
)
def test_body_without_a_file_is_rejected(hub, content, content_type, expected):
    assert error(send_file(hub, content, content_type=content_type)) == expected


@pytest.mark.parametrize("content_type", [CSV, XLSX, f"multipart/form-data; boundary={BOUNDARY}"])
def test_oversized_body_is_rejected_before_it_is_read(hub, monkeypatch, content_type):
    reads = []
    monkeypatch.setattr(FakePayload, "read", lambda *_arguments: reads.append(1) or b"")
    monkeypatch.setattr("portal.api.file_bodies.MAX_LARGE_BYTES", 1_000)

    assert error(send_file(hub, b"x" * 20_000, content_type=content_type)) == (413, "PAYLOAD_TOO_LARGE")
    assert reads == []


def test_chunked_body_has_the_same_size_limit(hub, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    chunked = hub.with_headers(transfer_encoding="chunked")

    assert error(send_file(chunked, b"sku,title\n" + b"A,B\n" * 100)) == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize("name", ["..%2F..%2Fetc%2Fpasswd", "%0D%0AX:1", "%F0%9F%98%80" * 60, "%ED%A0%80"])
def test_file_name_is_sanitised_and_not_used_as_a_path(hub, name):
    response = send_file(hub, "sku,title\nA,One\n", name=name)

    assert response.status_code == 201
    assert len(response.json()["data"]["file_name"]) <= 200
    staged = StagedUpload.objects.get()
    assert staged.file.name.startswith("imports/staged/")
    assert staged.file_name.isprintable()


@pytest.mark.parametrize("digest", ["", "x" * 65, "\0", "é", None, 5, "0" * 64])
def test_invalid_digest_confirms_nothing(brand, hub, digest):
    preview = send_file(hub, "sku,title\nA,One\n").json()["data"]

    rejected = hub.post(f"{PRODUCTS}/{preview['id']}/confirm", {"digest": digest})

    assert error(rejected) == (400, "VALIDATION_ERROR")
    assert titles_by_sku(brand) == {}


# --- Large files


@pytest.mark.django_db(transaction=True)
def test_large_file_is_checked_and_imported_by_jobs(monkeypatch):
    monkeypatch.setattr(tables, "MAX_ROWS", 3)
    brand = factories.brand()
    hub = Api(brand).hub()
    uploaded = send_file(hub, "sku,title\n" + "".join(f"S{number},Title\n" for number in range(8)))
    preview = uploaded.json()["data"]
    assert (uploaded.status_code, preview["status"], preview["counts"], preview["digest"]) == (
        202,
        "checking",
        None,
        None,
    )
    assert error(confirm(hub, preview)) == (400, "VALIDATION_ERROR")

    runner.run(preview["job_id"])

    checked = hub.get(f"{PRODUCTS}/{preview['id']}").json()["data"]
    assert (checked["status"], checked["counts"]["new"], len(checked["rows"])) == ("checked", 8, 8)
    response = confirm(hub, checked, idempotency_key="once")
    repeated = confirm(hub, checked, idempotency_key="once")
    assert (response.status_code, response.json()) == (202, repeated.json())
    importing = response.json()["data"]
    assert importing["status"] == "importing"
    runner.run(importing["job_id"])

    job = hub.get(f"brand/jobs/{importing['job_id']}").json()["data"]
    assert (job["status"], job["done"], job["total"]) == ("done", 8, 8)
    assert len(titles_by_sku(brand)) == 8
    key = ApiKey.objects.get(brand=brand, kind="hub")
    assert {entry.actor for entry in AuditLogEntry.objects.filter(kind="authcodes.product")} == {key}
    assert Job.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_key_revoked_before_the_job_runs_imports_nothing(monkeypatch):
    monkeypatch.setattr(tables, "MAX_ROWS", 3)
    brand = factories.brand()
    hub = Api(brand).hub()
    preview = send_file(hub, "sku,title\n" + "".join(f"S{number},Title\n" for number in range(8))).json()["data"]
    runner.run(preview["job_id"])
    checked = hub.get(f"{PRODUCTS}/{preview['id']}").json()["data"]
    importing = confirm(hub, checked).json()["data"]
    ApiKey.objects.update(revoked_at=timezone.now())

    runner.run(importing["job_id"])

    assert (Job.objects.get(pk=importing["job_id"]).status, titles_by_sku(brand)) == ("failed", {})


@pytest.mark.parametrize(
    ("path", "kind", "max_bytes"),
    [
        ("/api/v1/brand/imports/products", API, MAX_IMPORT_BYTES),
        ("/api/v1/brand/products", API, 1_000_000),
        ("/api/v1/brand/importsx", API, 1_000_000),
        ("/admin/authcodes/import/add/", PAGES, MAX_UPLOAD_BYTES),
    ],
)
def test_only_import_bodies_have_a_larger_size_limit(path, kind, max_bytes):
    assert most_bytes(path, kind) == max_bytes
    assert MAX_IMPORT_BYTES > tables.MAX_LARGE_BYTES + FORM_BYTES
