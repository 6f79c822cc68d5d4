"""Helpers for the pages of imports, as staff use them."""

from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

import authcodes.admin.imports  # noqa: F401 - the page under test
from authcodes.models.imports import Import
from jobs import runner
from jobs.models import Job
from tests.support.portal import browser, text

LIST = "auth_code,inventory_location,notes\n"


def import_url(page, *args):
    return reverse(f"admin:authcodes_import_{page}", args=args)


def post_upload(user, brand, content, **fields):
    file = SimpleUploadedFile("codes.csv", content.encode(), content_type="text/csv")
    return browser(user).post(import_url("add"), {"brand": brand.pk, "file": file, **fields})


def upload_and_check(user, brand, product, content):
    """An import that was uploaded through the page and has been checked."""
    answer = post_upload(user, brand, LIST + content, product=product.pk)
    upload = Import.objects.latest("pk")
    assert (answer.status_code, answer["Location"]) == (302, import_url("change", upload.pk))
    run_jobs()
    upload.refresh_from_db()
    return upload


def run_jobs():
    for job in Job.objects.unfinished():
        runner.run(job.pk)


def page_text(user, upload):
    return text(browser(user).get(import_url("change", upload.pk)))
