"""A previewed file is imported once, soon, unchanged, and by whoever may."""

from pathlib import Path

import pytest
import time_machine

from authcodes.models.products import Product
from jobs import staged_uploads
from jobs.models import StagedUpload
from tests.portal.import_export.conftest import LABEL, stored
from tests.support import factories
from tests.support.imports import (
    confirm,
    counts,
    imported,
    preview,
    problem,
    ticket_of,
    ticket_of_upload,
    upload,
)
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.usefixtures("media")


# --- Tickets


def test_a_ticket_is_used_once(brand, owner):
    ticket = ticket_of(preview(owner, LABEL, brand, "sku,title\nA,One\n"))
    confirm(owner, LABEL, ticket)
    Product.objects.all().delete()

    answer = confirm(owner, LABEL, ticket)

    assert (answer.status_code, stored(brand)) == (400, {})
    assert problem(answer) == "This preview has already been used or replaced. Upload the file again."


def test_the_same_file_a_second_time_changes_nothing(brand, owner):
    imported(owner, LABEL, brand, "sku,title\nA,One\n")

    page = preview(owner, LABEL, brand, "sku,title\nA,One\n")

    assert counts(page) == {"Unchanged": 1}
    assert "The file changes nothing" in text(page)


def test_an_hour_later_a_ticket_has_expired_and_its_file_is_gone(brand, owner, django_capture_on_commit_callbacks):
    ticket = ticket_of(preview(owner, LABEL, brand, "sku,title\nA,One\n"))
    staged = StagedUpload.objects.get()
    with time_machine.travel(staged.expires_at):
        answer = confirm(owner, LABEL, ticket)
    with django_capture_on_commit_callbacks(execute=True):
        assert staged_uploads.purge(at=staged.expires_at) == 1

    assert (answer.status_code, stored(brand)) == (400, {})
    assert problem(answer) == "This preview has expired. Upload the file again."
    assert not staged.file.storage.exists(staged.file.name)


def test_somebody_elses_ticket_and_another_brands_say_nothing(brand, owner, other):
    ticket = ticket_of(preview(owner, LABEL, brand, "sku,title\nA,One\n"))
    foreign_upload = upload(staff(other), LABEL, other, "sku,title\nA,One\n")

    for person, used in [
        (staff(brand), ticket),
        (staff(other), ticket),
        (owner, ticket_of_upload(foreign_upload)),
        (owner, ticket[:-1]),
        (owner, "x" * 10_000),
        (owner, "\0"),
    ]:
        answer = confirm(person, LABEL, used)
        assert (answer.status_code, problem(answer)) == (400, "This preview is not valid. Upload the file again.")
    assert (stored(brand), stored(other)) == ({}, {})


def test_a_ticket_ends_with_the_role_that_it_was_for(brand, owner, other):
    ticket = ticket_of(preview(owner, LABEL, brand, "sku,title\nA,One\n"))
    owner.staff_roles.update(brand=other)

    answer = confirm(owner, LABEL, ticket)

    assert (answer.status_code, Product.objects.count()) == (400, 0)
    assert brand.name not in text(answer)


def test_a_row_that_somebody_changed_since_error_holds_the_import_up(brand, owner):
    factories.product(brand, sku="A", title="Before")
    ticket = ticket_of(preview(owner, LABEL, brand, "sku,title\nA,After\nB,New\n"))
    Product.objects.update(title="Somebody else's")

    answer = confirm(owner, LABEL, ticket)

    assert (answer.status_code, stored(brand)) == (400, {"A": "Somebody else's"})
    assert problem(answer).startswith("The rows have changed since the preview.")


def test_a_file_that_changed_in_the_storage_is_not_imported(brand, owner):
    ticket = ticket_of(preview(owner, LABEL, brand, "sku,title\nA,One\n"))
    staged = StagedUpload.objects.get()
    Path(staged.file.path).write_text("sku,title\nA,Two\n")

    assert problem(confirm(owner, LABEL, ticket)) == "The uploaded file has changed. Upload it again."
    assert stored(brand) == {}


# --- Who may


@pytest.mark.parametrize("role", ["printer", "support"])
def test_who_may_not_change_products_may_not_import_them(brand, owner, role):
    ticket = ticket_of(preview(owner, LABEL, brand, "sku,title\nA,One\n"))
    client = browser(staff(brand, role=role))

    assert address(LABEL, "import") not in text(client.get(address(LABEL)))
    for what in ("import", "import_preview", "import_errors", "import_template"):
        assert client.get(address(LABEL, what)).status_code == 403
    assert client.post(address(LABEL, "import_confirm"), {"ticket": ticket}).status_code == 403
    may_export = 200 if role == "printer" else 403  # who sees the list and may run jobs
    answer = client.post(address(LABEL, "import_export"), {"brand": brand.pk, "format": "csv"})
    assert answer.status_code == may_export


def test_a_brand_that_is_not_ones_own_cannot_be_chosen(brand, owner, other):
    factories.product(other, sku="A", title="Theirs")

    assert upload(owner, LABEL, other, "sku,title\nA,Mine\n").status_code == 400
    answer = browser(owner).post(address(LABEL, "import_export"), {"brand": other.pk, "format": "csv"})
    assert (answer.status_code, b"Theirs" in answer.content) == (400, False)
    assert stored(other) == {"A": "Theirs"}
