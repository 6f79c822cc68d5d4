"""A preview's ticket: usable once, for an hour, for the unchanged file, and by users with the permission."""

from pathlib import Path

import pytest
import time_machine

from authcodes.models.products import Product
from jobs import staged_uploads
from jobs.models import StagedUpload
from tests.portal.import_export.conftest import LABEL, titles_by_sku
from tests.support import factories
from tests.support.imports import (
    confirm,
    counts,
    import_file,
    preview,
    problem,
    ticket_of,
    ticket_of_upload,
    upload,
)
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.usefixtures("media")


# --- Tickets


def test_ticket_can_be_used_once(brand, owner):
    ticket = ticket_of(preview(owner, LABEL, brand, "sku,title\nA,One\n"))
    confirm(owner, LABEL, ticket)
    Product.objects.all().delete()

    response = confirm(owner, LABEL, ticket)

    assert (response.status_code, titles_by_sku(brand)) == (400, {})
    assert problem(response) == "This preview has already been used or replaced. Upload the file again."


def test_second_import_of_the_same_file_changes_nothing(brand, owner):
    import_file(owner, LABEL, brand, "sku,title\nA,One\n")

    page = preview(owner, LABEL, brand, "sku,title\nA,One\n")

    assert counts(page) == {"Unchanged": 1}
    assert "The file changes nothing" in text(page)


def test_ticket_expires_after_an_hour_and_its_file_is_purged(brand, owner, django_capture_on_commit_callbacks):
    ticket = ticket_of(preview(owner, LABEL, brand, "sku,title\nA,One\n"))
    staged = StagedUpload.objects.get()
    with time_machine.travel(staged.expires_at):
        response = confirm(owner, LABEL, ticket)
    with django_capture_on_commit_callbacks(execute=True):
        assert staged_uploads.purge(at=staged.expires_at) == 1

    assert (response.status_code, titles_by_sku(brand)) == (400, {})
    assert problem(response) == "This preview has expired. Upload the file again."
    assert not staged.file.storage.exists(staged.file.name)


def test_ticket_of_another_user_or_brand_is_not_valid(brand, owner, other_brand):
    ticket = ticket_of(preview(owner, LABEL, brand, "sku,title\nA,One\n"))
    foreign_upload = upload(staff(other_brand), LABEL, other_brand, "sku,title\nA,One\n")

    for user, invalid_ticket in [
        (staff(brand), ticket),
        (staff(other_brand), ticket),
        (owner, ticket_of_upload(foreign_upload)),
        (owner, ticket[:-1]),
        (owner, "x" * 10_000),
        (owner, "\0"),
    ]:
        response = confirm(user, LABEL, invalid_ticket)
        assert (response.status_code, problem(response)) == (400, "This preview is not valid. Upload the file again.")
    assert (titles_by_sku(brand), titles_by_sku(other_brand)) == ({}, {})


def test_ticket_is_not_valid_after_the_role_was_removed(brand, owner, other_brand):
    ticket = ticket_of(preview(owner, LABEL, brand, "sku,title\nA,One\n"))
    owner.staff_roles.update(brand=other_brand)

    response = confirm(owner, LABEL, ticket)

    assert (response.status_code, Product.objects.count()) == (400, 0)
    assert brand.name not in text(response)


def test_row_changed_since_the_preview_blocks_the_import(brand, owner):
    factories.product(brand, sku="A", title="Before")
    ticket = ticket_of(preview(owner, LABEL, brand, "sku,title\nA,After\nB,New\n"))
    Product.objects.update(title="Somebody else's")

    response = confirm(owner, LABEL, ticket)

    assert (response.status_code, titles_by_sku(brand)) == (400, {"A": "Somebody else's"})
    assert problem(response).startswith("The rows have changed since the preview.")


def test_file_changed_in_the_storage_is_not_imported(brand, owner):
    ticket = ticket_of(preview(owner, LABEL, brand, "sku,title\nA,One\n"))
    staged = StagedUpload.objects.get()
    Path(staged.file.path).write_text("sku,title\nA,Two\n")

    assert problem(confirm(owner, LABEL, ticket)) == "The uploaded file has changed. Upload it again."
    assert titles_by_sku(brand) == {}


# --- Permissions


@pytest.mark.parametrize("role", ["printer", "support"])
def test_roles_that_cannot_change_products_cannot_import_them(brand, owner, role):
    ticket = ticket_of(preview(owner, LABEL, brand, "sku,title\nA,One\n"))
    client = browser(staff(brand, role=role))

    assert address(LABEL, "import") not in text(client.get(address(LABEL)))
    for action in ("import", "import_preview", "import_errors", "import_template"):
        assert client.get(address(LABEL, action)).status_code == 403
    assert client.post(address(LABEL, "import_confirm"), {"ticket": ticket}).status_code == 403
    export_status = 200 if role == "printer" else 403  # may view the list and run jobs
    response = client.post(address(LABEL, "import_export"), {"brand": brand.pk, "format": "csv"})
    assert response.status_code == export_status


def test_another_brand_cannot_be_chosen(brand, owner, other_brand):
    factories.product(other_brand, sku="A", title="Theirs")

    assert upload(owner, LABEL, other_brand, "sku,title\nA,Mine\n").status_code == 400
    response = browser(owner).post(address(LABEL, "import_export"), {"brand": other_brand.pk, "format": "csv"})
    assert (response.status_code, b"Theirs" in response.content) == (400, False)
    assert titles_by_sku(other_brand) == {"A": "Theirs"}
