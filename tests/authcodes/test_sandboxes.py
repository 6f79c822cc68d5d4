"""A sandbox brand's codes are tests: scans say so instead of "genuine", and so does every sheet."""

import io
from dataclasses import replace
from decimal import Decimal

import pytest
from pypdf import PdfReader

from authcodes.printing import documents, posters, runs, selection
from authcodes.printing.labels.presets import PRESETS
from authcodes.printing.labels.preview import preview
from authcodes.printing.request import PrintRequest
from authcodes.recalls import recalls
from tests.support import factories
from tests.support.api import Api
from tests.support.print_jobs import content, decode_pages, finished, start

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
MESSAGE = "Test code, not a product."


@pytest.fixture
def sandbox(db):
    return factories.brand(is_sandbox=True)


def page_texts(data):
    return [page.extract_text() for page in PdfReader(io.BytesIO(data)).pages]


def scanned(brand, code):
    return Api(brand).app().post("auth-codes/scan", {"code": str(code)}).json()


def test_a_scan_says_that_it_is_a_test(sandbox, brand):
    test, genuine = scanned(sandbox, factories.code(sandbox)), scanned(brand, factories.code(brand))

    assert (test["message"], test["is_test"], test["status"]) == (MESSAGE, True, "success")
    assert "Genuine" in genuine["message"]
    assert "is_test" not in genuine


def test_a_used_up_and_a_recalled_code_are_tests_too(sandbox, django_capture_on_commit_callbacks):
    used = factories.code(sandbox, scan_limit=1)
    customers = [factories.customer(sandbox) for _ in range(2)]
    for customer in customers:
        answer = Api(sandbox).as_customer(customer).post("auth-codes/scan", {"code": str(used)}).json()
    back = factories.code(sandbox)
    recall_fields = {"recall_id": "R-1", "contact": "us", "message": "Bring it back.", "reason": "Found."}
    recalls.recall_batch(batch=back.batch, at=back.batch.created_at, **recall_fields)

    assert (answer["reason"], answer["message"], answer["is_test"]) == ("limit_reached", MESSAGE, True)
    assert (scanned(sandbox, back)["reason"], scanned(sandbox, back)["message"]) == ("recalled", MESSAGE)


def test_a_lookup_tells_it(sandbox, brand):
    looked = [
        Api(each).hub().post("auth-codes/validate", {"code": str(factories.code(each))}).json()
        for each in (sandbox, brand)
    ]

    assert [each.get("is_test") for each in looked] == [True, None]


@pytest.mark.parametrize("preset", PRESETS)
def test_every_label_of_every_sheet_is_marked_and_scans(sandbox, tmp_path, preset):
    batch = factories.batch(sandbox, quantity=PRESETS[preset].sheet.per_page + 1)

    run = finished(start(batch, preset=preset))
    data = content(run.job)

    pages = page_texts(data)
    assert len(pages) == 2
    assert [page.count("SANDBOX") for page in pages] == [batch.quantity - 1, 1]
    assert [len(codes) for codes in decode_pages(data, tmp_path)] == [batch.quantity - 1, 1]
    assert run.job.result_name.startswith("SANDBOX-labels-")


def test_sheets_of_other_brands_have_no_mark(brand):
    run = finished(start(factories.batch(brand, quantity=2)))

    assert "SANDBOX" not in page_texts(content(run.job))[0]
    assert run.job.result_name.startswith("labels-")


def test_the_preview_has_the_mark(sandbox):
    chosen = selection.of_range(
        runs.resolve_range(batch=(made := factories.batch(sandbox)), first=made.first_code, last=made.last_code)
    )
    design = selection.design_of(chosen, PrintRequest())
    labels = list(selection.labels(chosen, PrintRequest()))

    assert b"SANDBOX" in preview(labels, design)
    assert b"SANDBOX" not in preview(labels, replace(design, mark=""))
    assert design.qr_mm > Decimal(0)


def test_documents_are_marked(sandbox, brand):
    for each, expected in ((sandbox, True), (brand, False)):
        run = finished(start(factories.batch(each)))
        batch = factories.batch(each)
        recall_fields = {"recall_id": "R-1", "contact": "us", "message": "Bring it back.", "reason": "Found."}
        recall = recalls.recall_batch(batch=batch, at=batch.created_at, **recall_fields)

        for document in (documents.cover_sheet(run), posters.as_pdf(posters.of_recall(recall), "en")):
            assert ["SANDBOX" in page.replace(" ", "") for page in page_texts(document)] == [expected] * len(
                page_texts(document)
            )
