"""Staff create a batch and follow the generation of its codes, and recall a batch that customers have scanned."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from authcodes.models.batches import BatchRange, Recall
from authcodes.models.codes import AuthCode
from jobs.models import Job
from tests.browser.actors import scan, wait_for_worker
from tests.browser.window import DESKTOP, PHONE
from tests.support import factories


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_batch_is_created_and_its_codes_are_generated(window, brand, size):
    factories.product(brand, sku="BEANS", title="Coffee beans")
    owner = window(size=size)
    owner.goto("")

    owner.sidebar("Products & codes", "Batches")
    owner.add()
    owner.page.get_by_label("Batch name").fill("Spring harvest")
    owner.look_up("product", "Coffee beans")
    owner.button("Next").click()
    owner.page.get_by_label("Quantity").fill("1200")
    owner.page.get_by_text("Numbering (filled in automatically)").click()
    owner.page.get_by_label("Prefix").fill("NW-")
    owner.page.get_by_label("Number width").fill("6")
    owner.button("Next").click()
    owner.page.get_by_label("Plain numbers").check()
    owner.button("Create batch").click()
    owner.wait_for_text("NW-000001 … NW-001200", "Ready")  # updated until all are generated, without a reload
    owner.sidebar("Settings", "Jobs")
    owner.link("Generate 1200 codes of Spring harvest").click()
    owner.wait_for_text("Done", "1,200 of 1,200 (100 %)", "1200 codes generated.")

    generated = AuthCode.objects.filter(brand=brand, product__sku="BEANS").order_by("code")
    assert (generated.count(), generated.first().code, generated.last().code) == (1200, "NW-000001", "NW-001200")


def test_list_follows_the_generation_of_codes(window, brand):
    batch = factories.batch(brand, range_name="Slow harvest", quantity=4)
    BatchRange.objects.filter(pk=batch.pk).update(generated_count=1)
    job = Job.objects.create(brand=brand, kind="generate", title="x", parameters={"batch_id": batch.pk})
    Job.objects.filter(pk=job.pk).update(status="running", alive_at=timezone.now(), attempts=1)
    owner = window()
    owner.goto("")

    owner.sidebar("Products & codes", "Batches")
    owner.wait_for_text("Generating: 25 %")
    owner.page.evaluate("window.notLoadedAgain = true")
    BatchRange.objects.filter(pk=batch.pk).update(generated_count=4)
    Job.objects.filter(pk=job.pk).update(status="done")

    owner.wait_for_text("Ready")
    assert owner.page.evaluate("window.notLoadedAgain") is True


def test_overlapping_range_is_rejected_and_can_be_corrected(window, brand):
    factories.batch(brand, range_name="Winter", prefix="NW-", number_width=6, quantity=100)
    owner = window()

    owner.goto("authcodes/batchrange/add/")
    owner.page.get_by_label("Batch name").fill("Spring")
    owner.button("Next").click()
    owner.page.get_by_label("Quantity").fill("50")
    owner.page.get_by_text("Numbering (filled in automatically)").click()
    assert owner.page.get_by_label("Starting number").input_value() == "101"
    owner.page.get_by_label("Starting number").fill("1")
    owner.button("Next").click()
    owner.page.get_by_label("Plain numbers").check()
    owner.button("Create batch").click()
    step = owner.page.locator("#how-many")
    step.get_by_text("The codes NW-000001 to NW-000050 overlap with the range Winter.").wait_for()
    owner.page.get_by_label("Starting number").fill("101")
    owner.button("Next").click()
    owner.button("Create batch").click()

    owner.wait_for_text("NW-000101 … NW-000150")


def test_batch_is_recalled_and_its_scans_are_counted(window, portal, brand):
    batch = factories.batch(brand, range_name="Glass jars", prefix="JAR-", quantity=40, scan_limit=None)
    ada, ben = factories.customer(brand), factories.customer(brand)
    first, second = batch.codes.order_by("code")[:2]
    for customer, code in ((ada, first), (ada, second), (ben, second)):
        scan(portal, customer, brand, code)
    wait_for_worker()
    owner = window()
    owner.goto("")

    owner.sidebar("Products & codes", "Batches")
    owner.link("Glass jars").click()
    owner.link("Recall").filter(has_not_text="Recalls").click()
    owner.wait_for_text("JAR-0001 … JAR-0040", "Every scan of these 40 codes will show your message")
    assert {
        "Codes": "40",
        "Codes scanned so far": "2",
        "Customers who scanned these codes": "2",
    }.items() <= owner.definitions().items()

    owner.page.get_by_label("Recall number").fill("NW-2026-7")
    owner.page.get_by_label("Contact").fill("+49 30 1234")
    owner.page.get_by_label("What customers should do").fill("Do not drink it. Bring it back.")
    owner.button("Recall and send").click()
    owner.wait_for_text("This field is required.")
    assert not Recall.objects.exists()

    owner.page.get_by_label("Reason").fill("Glass splinters")
    owner.button("Recall and send").click()
    assert not Recall.objects.exists()  # the number must be typed first
    owner.page.get_by_label("Number of customers").fill("2")
    owner.button("Recall and send").click()
    owner.wait_for_text("NW-2026-7", "0 scans since the recall")

    recall_notice = scan(portal, ben, brand, first)["recall"]
    scan(portal, ada, brand, second)
    assert recall_notice == {"id": "NW-2026-7", "contact": "+49 30 1234", "message": "Do not drink it. Bring it back."}
    owner.page.reload()
    owner.link("2 scans since the recall").click()
    owner.lists(2)
    owner.goto("")
    expect(owner.page.locator(".home-fact", has_text="Scans of recalled products")).to_contain_text("2")
    owner.page.get_by_role("link", name="Scans of recalled products").click()
    owner.lists(2)
