"""Codes of a sandbox brand are test codes: scans, label sheets and documents say so."""

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


def scan(brand, code):
    return Api(brand).app().post("auth-codes/scan", {"code": str(code)}).json()


def test_scan_result_says_that_it_is_a_test(sandbox, brand):
    test_result, genuine_result = scan(sandbox, factories.code(sandbox)), scan(brand, factories.code(brand))

    assert (test_result["message"], test_result["is_test"], test_result["status"]) == (MESSAGE, True, "success")
    assert "Genuine" in genuine_result["message"]
    assert "is_test" not in genuine_result


def test_scans_of_used_up_and_recalled_codes_say_that_they_are_tests(sandbox, django_capture_on_commit_callbacks):
    used_up_code = factories.code(sandbox, scan_limit=1)
    customers = [factories.customer(sandbox) for _ in range(2)]
    for customer in customers:
        answer = Api(sandbox).as_customer(customer).post("auth-codes/scan", {"code": str(used_up_code)}).json()
    recalled_code = factories.code(sandbox)
    recall_fields = {"recall_id": "R-1", "contact": "us", "message": "Bring it back.", "reason": "Found."}
    recalls.recall_batch(batch=recalled_code.batch, at=recalled_code.batch.created_at, **recall_fields)

    assert (answer["reason"], answer["message"], answer["is_test"]) == ("limit_reached", MESSAGE, True)
    assert (scan(sandbox, recalled_code)["reason"], scan(sandbox, recalled_code)["message"]) == ("recalled", MESSAGE)


def test_lookup_says_that_it_is_a_test(sandbox, brand):
    results = [
        Api(tested_brand).hub().post("auth-codes/validate", {"code": str(factories.code(tested_brand))}).json()
        for tested_brand in (sandbox, brand)
    ]

    assert [tested_brand.get("is_test") for tested_brand in results] == [True, None]


@pytest.mark.parametrize("preset", PRESETS)
def test_every_label_of_every_preset_is_marked_and_readable(sandbox, tmp_path, preset):
    batch = factories.batch(sandbox, quantity=PRESETS[preset].sheet.per_page + 1)

    run = finished(start(batch, preset=preset))
    data = content(run.job)

    pages = page_texts(data)
    assert len(pages) == 2
    assert [page.count("SANDBOX") for page in pages] == [batch.quantity - 1, 1]
    assert [len(codes) for codes in decode_pages(data, tmp_path)] == [batch.quantity - 1, 1]
    assert run.job.result_name.startswith("SANDBOX-labels-")


def test_sheets_of_other_brands_are_not_marked(brand):
    run = finished(start(factories.batch(brand, quantity=2)))

    assert "SANDBOX" not in page_texts(content(run.job))[0]
    assert run.job.result_name.startswith("labels-")


def test_preview_is_marked(sandbox):
    chosen_codes = selection.of_range(
        runs.resolve_range(batch=(batch := factories.batch(sandbox)), first=batch.first_code, last=batch.last_code)
    )
    design = selection.design_of(chosen_codes, PrintRequest())
    labels = list(selection.labels(chosen_codes, PrintRequest()))

    assert b"SANDBOX" in preview(labels, design)
    assert b"SANDBOX" not in preview(labels, replace(design, mark=""))
    assert design.qr_mm > Decimal(0)


def test_only_documents_of_sandbox_brands_are_marked(sandbox, brand):
    for printing_brand, expected in ((sandbox, True), (brand, False)):
        run = finished(start(factories.batch(printing_brand)))
        batch = factories.batch(printing_brand)
        recall_fields = {"recall_id": "R-1", "contact": "us", "message": "Bring it back.", "reason": "Found."}
        recall = recalls.recall_batch(batch=batch, at=batch.created_at, **recall_fields)

        for document in (documents.cover_sheet(run), posters.as_pdf(posters.of_recall(recall), "en")):
            assert ["SANDBOX" in page.replace(" ", "") for page in page_texts(document)] == [expected] * len(
                page_texts(document)
            )
