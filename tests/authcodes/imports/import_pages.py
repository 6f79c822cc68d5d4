"""The pages of imports, as staff go through them."""

from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

import authcodes.admin.imports  # noqa: F401 - the page under test
from authcodes.models.imports import Import
from jobs import runner
from jobs.models import Job
from tests.support.portal import browser, text

LIST = "auth_code,inventory_location,notes\n"


def address(what, *args):
    return reverse(f"admin:authcodes_import_{what}", args=args)


def send(person, brand, content, **fields):
    file = SimpleUploadedFile("codes.csv", content.encode(), content_type="text/csv")
    return browser(person).post(address("add"), {"brand": brand.pk, "file": file, **fields})


def uploaded(person, brand, product, content):
    """An import that was sent through the page, and whose check has run."""
    answer = send(person, brand, LIST + content, product=product.pk)
    upload = Import.objects.latest("pk")
    assert (answer.status_code, answer["Location"]) == (302, address("change", upload.pk))
    run_jobs()
    upload.refresh_from_db()
    return upload


def run_jobs():
    for job in Job.objects.unfinished():
        runner.run(job.pk)


def shown(person, upload):
    return text(browser(person).get(address("change", upload.pk)))
