"""From a product to its print page, and changes of a part of a batch: clicks are counted, and no input is lost."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.prints import PrintRun
from jobs.models import Job
from tests.browser.clicks import Clicks
from tests.browser.settings.test_api_keys import save_screenshot
from tests.browser.window import DESKTOP, PHONE, Window
from tests.support import factories
from tests.support.live_stack import wait_until
from tests.support.portal import staff

CLICKS_TO_THE_PRINT_PAGE = 4


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_new_product_gets_a_thousand_codes_in_four_clicks(window, brand, size):
    owner = window(size=size)
    owner.goto("")
    page, click = owner.page, Clicks(owner)

    click(page.get_by_role("link", name="Create a product"))
    page.get_by_label("Sku").fill("BEANS")
    page.locator("#id_title").fill("Coffee beans")
    click(page.get_by_role("button", name="Save and generate codes"))
    expect(page.get_by_role("heading", name="2. How many codes")).to_be_visible()
    complaints = owner.audit() + owner.axe()
    save_screenshot(owner, f"batch-wizard-{size[0]}")
    page.get_by_label("Quantity").fill("1000")
    page.keyboard.press("Enter")
    expect(page.locator("[data-live]")).to_contain_text("All codes are assigned to Coffee beans")
    click(page.get_by_label("Protected codes"))
    complaints += owner.audit() + owner.axe()
    save_screenshot(owner, f"batch-wizard-rules-{size[0]}")
    click(page.get_by_role("button", name="Create batch"))
    page.wait_for_url("**/printrun/batch/*/")

    batch = BatchRange.objects.get()
    assert click.number == CLICKS_TO_THE_PRINT_PAGE
    assert (batch.generated_count, batch.product.sku, batch.is_signed) == (1000, "BEANS", True)
    assert complaints == []
    page.go_back()  # to a new form, which continues after this batch and has another name
    expect(page.locator("[name=starting_number]")).to_have_value("1001")
    assert page.locator("[name=range_name]").input_value() == f"{batch.range_name} (2)"
    assert BatchRange.objects.count() == 1


def test_part_of_a_batch_is_chosen_with_the_mouse_and_deactivated(window, brand):
    batch = factories.batch(brand, range_name="Spring", prefix="NW-", quantity=1000)
    manager = window("manager")
    page, click = manager.page, Clicks(manager)
    manager.goto(f"authcodes/batchrange/{batch.pk}/change/")
    complaints = manager.audit() + manager.axe()
    save_screenshot(manager, "batch")
    drag(page, 0.5, 0.6)
    expect(page.get_by_text("Codes chosen: 101")).to_be_visible()
    assert [page.locator(f"#range-{name}").input_value() for name in ("first", "last")] == ["NW-0501", "NW-0601"]
    page.locator("#range-last").press("ArrowDown")
    expect(page.get_by_text("Codes chosen: 100")).to_be_visible()
    save_screenshot(manager, "batch-chosen")

    click(page.get_by_role("button", name="Deactivate codes"))
    assert [page.locator(f"#id_{name}").input_value() for name in ("first", "last")] == ["NW-0501", "NW-0600"]
    page.locator("[name=reason]").fill("Water damage")
    click(manager.button("Show what changes"))
    click(manager.button("Deactivate codes"))
    manager.wait_for_text("Deactivated: 100", "100 deactivated")
    assert click.number == 4  # with the drag
    assert page.locator(".lane-deactivated").count() == 1

    page.locator("#range-first").fill("NW-0490")
    page.locator("#range-last").fill("NW-0510")
    page.get_by_role("button", name="Zoom in").click()
    manager.wait_for_text("Selected codes", "Show all codes")
    assert page.locator(".lane-deactivated").count() == 1
    complaints += manager.audit() + manager.axe()
    save_screenshot(manager, "batch-closer")
    page.get_by_role("button", name="Mark as delivered to shops").click()
    page.get_by_label("Shop or region").fill("Berlin Mitte")
    manager.button("Mark as delivered to shops").click()
    manager.wait_for_text("Delivered to shops: 21")
    assert page.locator(".batch-delivered .batch-stage-number").inner_text().startswith("21")
    assert complaints == []
    assert AuthCode.objects.deactivated().count() == 100


def drag(page, begin, end):
    box = page.locator("[data-drag]").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * begin + 0.5, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * (begin + end) / 2, middle)
    page.mouse.move(box["x"] + box["width"] * end + 0.5, middle)
    page.mouse.up()


@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "dark"), (PHONE, "light")])
def test_every_tab_is_accessible(window, portal, brand, size, scheme):
    batch = factories.batch(brand, range_name="Spring", prefix="NW-", quantity=300)
    owner = window(size=size)
    complaints = []
    for tab in ("codes", "prints", "scans", "history", "settings"):
        owner.goto(f"authcodes/batchrange/{batch.pk}/change/?tab={tab}")
        owner.page.evaluate("dark => document.documentElement.classList.toggle('dark', dark)", scheme == "dark")
        complaints += owner.audit() + owner.axe()
        save_screenshot(owner, f"batch-{tab}-{scheme}-{size[0]}")

    assert complaints == []


def test_page_follows_the_generation_and_keeps_typed_input(window, brand):
    batch = factories.batch(brand, range_name="Slow", prefix="NW-", quantity=400)
    BatchRange.objects.filter(pk=batch.pk).update(generated_count=100)
    job = Job.objects.create(brand=brand, kind="generate", title="x", parameters={"batch_id": batch.pk}, total=400)
    Job.objects.filter(pk=job.pk).update(status="running", alive_at=timezone.now(), attempts=1, done=100)
    owner = window()
    owner.goto(f"authcodes/batchrange/{batch.pk}/change/?tab=settings")
    owner.wait_for_text("100 of 400 (25 %)")
    owner.page.evaluate("window.notLoadedAgain = true")
    owner.page.locator("[name=range_name]").fill("Half typed")

    Job.objects.filter(pk=job.pk).update(done=200)
    owner.wait_for_text("200 of 400 (50 %)")
    BatchRange.objects.filter(pk=batch.pk).update(generated_count=400)
    Job.objects.filter(pk=job.pk).update(status="done", done=400)

    expect(owner.page.locator(".batch-generated .batch-stage-number")).to_contain_text("400")
    owner.page.locator("[data-job]").wait_for(state="detached")
    assert owner.page.evaluate("window.notLoadedAgain") is True
    assert owner.page.locator("[name=range_name]").input_value() == "Half typed"
    drag(owner.page, 0.0, 1.0)  # the new strip can be dragged across


def test_list_of_prints_follows_a_print_to_its_download(window, brand):
    batch = factories.batch(brand, range_name="Spring", prefix="NW-", quantity=40)
    owner = window()
    owner.goto(f"authcodes/printrun/batch/{batch.pk}/")
    job = Job.objects.create(brand=brand, kind="print-batch", title="x", total=40)
    Job.objects.filter(pk=job.pk).update(status="running", alive_at=timezone.now(), attempts=1, done=10)
    PrintRun.objects.create(
        brand=brand, batch=batch, output="labels", first_code="NW-0001", last_code="NW-0040", codes=40, job=job
    )
    owner.goto(f"authcodes/batchrange/{batch.pk}/change/?tab=prints")
    owner.wait_for_text("25 %")
    later = timezone.now() + timedelta(hours=1)

    Job.objects.filter(pk=job.pk).update(status="done", result="x.pdf", result_name="x.pdf", expires_at=later, done=40)

    owner.page.locator("#tab").get_by_role("link", name="Download", exact=True).wait_for()


def test_without_scripts_a_batch_is_created_and_a_part_of_it_chosen(portal, browser, brand, window):
    factories.product(brand, title="Coffee beans")
    manager = window("manager")
    context = browser.new_context(
        base_url=portal.url, java_script_enabled=False, storage_state=manager.context.storage_state()
    )
    page = context.new_page()
    page.goto("/admin/authcodes/batchrange/add/")
    for name in ("range_name", "quantity", "signed"):
        expect(page.locator(f"[name={name}]").first).to_be_visible()
    page.locator("[name=range_name]").fill("By hand")
    page.locator("[name=quantity]").fill("20")
    page.locator("[name=signed][value=plain]").check()
    page.get_by_role("button", name="Create batch").click()
    page.wait_for_url("**/printrun/batch/*/")

    batch = BatchRange.objects.get()
    page.goto(f"/admin/authcodes/batchrange/{batch.pk}/change/")
    page.locator("#range-first").fill(batch.first_code)
    page.locator("#range-last").fill(batch.first_code)
    page.get_by_role("button", name="Deactivate codes").click()
    assert page.locator("#id_last").input_value() == batch.first_code
    context.close()


def test_input_of_the_wizard_is_restored_after_the_session_expired(portal, browser, brand):
    user = staff(brand, role="manager", email="mia@example.com", password=factories.PASSWORD)
    manager = Window(browser, portal.url, DESKTOP)
    manager.begin_session(user)
    page = manager.page
    manager.goto("authcodes/batchrange/add/")
    page.locator("[name=range_name]").fill("Nearly lost")
    page.get_by_role("button", name="2. How many codes").click()
    page.locator("[name=quantity]").fill("77")
    cookies = [each for each in manager.context.cookies() if each["name"] != "sessionid"]
    manager.context.clear_cookies()
    manager.context.add_cookies(cookies)
    page.get_by_role("button", name="3. Protection and rules").click()
    page.get_by_label("Plain numbers").check()
    page.get_by_role("button", name="Create batch").click()
    page.get_by_label("E-mail").fill(user.email)
    page.get_by_label("Password").fill(factories.PASSWORD)
    page.keyboard.press("Enter")

    manager.wait_for_text("has been restored")
    expect(page.locator("[name=range_name]")).to_have_value("Nearly lost")
    assert page.locator("[name=quantity]").input_value() == "77"
    assert not BatchRange.objects.exists()
    manager.close()


def test_double_click_creates_one_batch(window, brand):
    owner = window()
    page = owner.page
    owner.goto("authcodes/batchrange/add/")
    page.locator("[name=range_name]").fill("Twice")
    page.get_by_role("button", name="2. How many codes").click()
    page.locator("[name=quantity]").fill("30")
    page.get_by_role("button", name="3. Protection and rules").click()
    page.get_by_label("Plain numbers").check()
    page.get_by_role("button", name="Create batch").dblclick(no_wait_after=True)

    page.wait_for_url("**/printrun/batch/*/")
    wait_until(lambda: BatchRange.objects.exists())
    assert (BatchRange.objects.count(), AuthCode.objects.count()) == (1, 30)


def test_outdated_tab_of_the_settings_saves_nothing_and_keeps_its_input(window, brand):
    batch = factories.batch(brand, range_name="Spring", quantity=3)
    owner = window()
    owner.goto(f"authcodes/batchrange/{batch.pk}/change/?tab=settings")
    owner.page.locator("[name=range_name]").fill("Mine")
    BatchRange.objects.filter(pk=batch.pk).update(range_name="Theirs")

    owner.button("Save").click()

    owner.wait_for_text("Someone else changed this after you opened it")
    assert owner.page.locator("[name=range_name]").input_value() == "Mine"
    batch.refresh_from_db()
    assert batch.range_name == "Theirs"
