"""Printing the codes of a list: counted within limits, and only codes of the brand."""

import re
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from authcodes.admin.printing import preview, studio
from authcodes.models.prints import Printer, PrintRun
from authcodes.printing import layouts
from tests.authcodes.printing.labels.test_label_parts import PARTS
from tests.authcodes.printing.print_pages import VALID, form_errors, get_preview, post_form, print_url
from tests.support import factories
from tests.support.portal import address, browser, links, staff, text
from tests.support.print_jobs import content, decode_image, finished, manifest, start

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def owner(brand):
    return staff(brand, email="ann@example.com")


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=10, range_name="Spring")


def test_codes_of_another_brand_cannot_be_printed(client, brand):
    other_batch = factories.batch(factories.brand(), prefix="ZZ-")

    chosen_brand = client.post(
        address("authcodes.printrun", "codes"), {**VALID, "brand": other_batch.brand_id, "confirm": "1"}
    )
    filtered_list = client.post(
        address("authcodes.printrun", "codes") + f"?batch__id__exact={other_batch.pk}",
        {**VALID, "brand": brand.pk, "confirm": "1"},
    )

    assert "brand" in form_errors(chosen_brand)
    assert (filtered_list.status_code, filtered_list["Location"]) == (302, address("authcodes.authcode") + "?e=1")
    assert not PrintRun.objects.exists()


def test_user_of_several_brands_can_distinguish_printers_and_layouts(brand):
    other = factories.brand(name="Coffee")
    for each in (brand, other):
        factories.batch(each)
        Printer.objects.create(brand=each, name="Warehouse")
        layouts.create(brand=each, name="Jars", content=layouts.Content(Decimal(70), Decimal("29.7"), PARTS))

    def offered(*brands):
        form = browser(staff(*brands)).get(address("authcodes.printrun", "codes")).context["form"]
        return [
            {str(label) for _value, label in form.fields[name].choices if "Warehouse" in label or "Jars" in label}
            for name in ("printer", "layout")
        ]

    assert offered(brand) == [{"Warehouse"}, {"Jars (70 x 29.7 mm)"}]
    assert offered(brand, other) == [
        {f"{brand}: Warehouse", "Coffee: Warehouse"},
        {f"{brand}: Jars (70 x 29.7 mm)", "Coffee: Jars (70 x 29.7 mm)"},
    ]


def test_images_ignore_the_layout_and_printer_of_another_brand(brand, batch):
    other = factories.brand(name="Coffee")
    content = layouts.Content(Decimal(70), Decimal("29.7"), PARTS)
    layout = layouts.create(brand=other, name="Jars", content=content)
    printer = Printer.objects.create(brand=other, name="Warehouse")
    client, codes = browser(staff(brand, other)), address("authcodes.printrun", "codes")
    data = {**VALID, "brand": brand.pk, "layout": layout.pk, "printer": printer.pk, "confirm": "1"}

    labels = client.post(codes, data)
    images = client.post(codes, {**data, "output": "png"})

    assert {"layout", "printer"} <= set(form_errors(labels))
    assert images.status_code == 302
    assert PrintRun.objects.get().settings["printer"] == ""


def test_codes_of_a_filtered_list_are_printed(client, brand, batch):
    deactivated = factories.batch(brand, prefix="CD-", quantity=2, product=batch.product)
    factories.deactivate(codes=list(deactivated.codes.all()), at=timezone.now())
    factories.batch(brand, prefix="EF-", quantity=2)
    list_url = address("authcodes.printrun", "codes") + f"?product__id__exact={batch.product_id}&status=deactivated"

    page = client.post(list_url, {**VALID, "brand": brand.pk, "edit": "1", "output": "png"})
    test_print = client.post(list_url, {**VALID, "brand": brand.pk, "test": "1", "output": "png"})
    client.post(list_url, {**VALID, "brand": brand.pk, "confirm": "1", "output": "png"})

    assert "Status: Deactivated" in text(page)
    assert "2 of these codes are deactivated" in text(page)
    assert decode_image(test_print.content).endswith("/s/CD-0001")
    run = finished(PrintRun.objects.get())
    assert (run.batch, run.first_code, run.last_code, run.codes) == (None, "CD-0001", "CD-0002", 2)
    assert [row["code"] for row in manifest(content(run.job))] == ["CD-0001", "CD-0002"]


def send_and_capture(client, url, **fields):
    """The response and the SQL statements about codes that it took."""
    with CaptureQueriesContext(connection) as queries:
        answer = client.post(url, {**VALID, **fields}) if fields else client.get(url)
    return answer, [query["sql"] for query in queries if "authcodes_authcode" in query["sql"]]


def is_bounded(statement):
    """Whether the statement has a limit, or selects the rows of one page of the list by their ids."""
    return " LIMIT " in statement or re.search(r'"id" IN \(\d+[,)]', statement)


@pytest.fixture
def low_count_limit(monkeypatch):
    """At most three codes are counted to display a page."""
    for module in (preview, studio):
        monkeypatch.setattr(module, "MAX_COUNTED", 3)


def test_long_list_is_counted_by_the_first_press_and_printed_by_the_second(client, brand, batch, low_count_limit):
    factories.deactivate(codes=list(batch.codes.all()[:2]), at=timezone.now())
    url, common = address("authcodes.printrun", "codes"), {"brand": brand.pk, "payload": "code"}

    for fields in (
        {},
        {**common, "edit": "1"},
        {**common, "test": "1"},
        {**common, "save": "1", "layout_name": "Jars"},
    ):
        answer, statements = send_and_capture(client, url, **fields)
        assert answer.status_code == 200
        assert [statement for statement in statements if not is_bounded(statement)] == []
        if "test" not in fields:
            page = text(answer)
            assert "More than 3 codes. They are counted when you press Print." in page
            assert "deactivated" not in answer.context.get("code_warnings", [])
            assert 'name="previewed" value=""' in page
    first_press = client.post(url, {**VALID, **common, "confirm": "1"})

    assert "10 labels, 1 page" in " ".join(text(first_press).split())
    assert "Print 10" in text(first_press)
    assert "Nothing has been printed yet. Check the number" in text(first_press)
    assert first_press.context["code_warnings"] == [
        "2 of these codes are deactivated. They will be printed but scan as not valid."
    ]
    assert not PrintRun.objects.exists()
    second_press = {
        **VALID,
        **common,
        "confirm": "1",
        "previewed": first_press.context["previewed"],
        "page_token": first_press.context["page_token"],
    }
    assert client.post(url, second_press).status_code == client.post(url, second_press).status_code == 302
    assert PrintRun.objects.get().codes == 10


def test_list_that_grew_since_the_first_press_must_be_confirmed_again(client, brand, batch, low_count_limit):
    url, data = address("authcodes.printrun", "codes"), {**VALID, "brand": brand.pk, "confirm": "1"}
    previewed = client.post(url, data).context["previewed"]
    factories.batch(brand, prefix="CD-", quantity=2)

    answer = client.post(url, {**data, "previewed": previewed})

    assert "Print 12" in text(answer)
    assert not PrintRun.objects.exists()
    assert client.post(url, {**data, "previewed": answer.context["previewed"]}).status_code == 302


def test_large_batch_with_warnings_must_be_confirmed(client, batch, low_count_limit):
    assert "number" in client.get(print_url(batch)).context
    factories.deactivate(codes=list(batch.codes.all()[:2]), at=timezone.now())

    first_press = post_form(client, batch, "confirm")

    assert "2 of these codes are deactivated" in text(first_press)
    assert not PrintRun.objects.exists()
    assert post_form(client, batch, "confirm", previewed=first_press.context["previewed"]).status_code == 302


def test_large_batch_without_warnings_is_printed_by_the_first_press(client, batch, low_count_limit):
    assert "Print 10" in text(client.get(print_url(batch)))
    assert post_form(client, batch, "confirm").status_code == 302


def fragments(answer):
    """The parts of the studio that a preview replaces, by name."""
    return dict(re.findall(r'data-fragment="(\w+)">(.*?)</(?:div|span)>\s*(?=<)', text(answer), re.DOTALL))


def get_list_preview(client, brand, **fields):
    return client.get(
        address("authcodes.printrun", "codes_preview"), {**VALID, "brand": brand.pk, "list": "", **fields}
    )


def test_preview_of_another_brands_list_has_its_own_number_and_earlier_runs(brand, batch):
    other = factories.brand(name="Coffee")
    factories.batch(other, prefix="CD-", quantity=3)
    start(batch)
    client = browser(staff(brand, other))

    own_preview, other_preview = get_list_preview(client, brand), get_list_preview(client, other)

    assert ("10 labels" in text(own_preview), "Print them again" in text(own_preview)) == (True, True)
    assert ("3 labels" in text(other_preview), "Print them again" in text(other_preview)) == (True, False)
    assert {"codes", "count", "print"} <= fragments(other_preview).keys()


def test_preview_of_a_long_list_replaces_the_number_and_the_warnings(client, brand, batch, low_count_limit):
    answer = get_list_preview(client, brand)

    assert {"codes", "count", "print"} <= fragments(answer).keys()
    assert "More than 3 codes. They are counted when you press Print." in fragments(answer)["count"]
    assert 'name="previewed" value=""' in fragments(answer)["codes"]


def test_preview_of_a_large_range_has_its_own_earlier_runs(client, batch, low_count_limit):
    start(batch, first="AB-0001", last="AB-0005")

    printed = get_preview(client, batch, first="AB-0001", last="AB-0005")
    unprinted = get_preview(client, batch, first="AB-0006", last="AB-0010")

    assert "Print them again" in fragments(printed)["codes"] + text(printed)
    assert "codes" in fragments(unprinted)
    assert "Print them again" not in text(unprinted)


@pytest.mark.parametrize("previewed", ["x", ":", "-1:", "9" * 400, "10:x"])
def test_forged_confirmation_does_not_print_a_long_list(client, brand, batch, low_count_limit, previewed):
    factories.deactivate(codes=list(batch.codes.all()[:2]), at=timezone.now())
    data = {**VALID, "brand": brand.pk, "confirm": "1", "previewed": previewed}

    assert client.post(address("authcodes.printrun", "codes"), data).status_code == 200
    assert not PrintRun.objects.exists()


def test_print_job_fails_if_its_user_has_lost_the_role(client, owner, brand, batch):
    client.post(address("authcodes.printrun", "codes"), {**VALID, "brand": brand.pk, "confirm": "1"})
    owner.staff_roles.update(role="support")

    run = finished(PrintRun.objects.get())

    assert (run.job.status, run.job.result.name) == ("failed", "")


def test_product_and_code_list_link_to_printing_their_codes(client, batch):
    product = text(client.get(address("authcodes.product", "change", batch.product_id)))
    (action,) = {link for link in links(product) if link.endswith("/print/")}
    codes = text(client.get(address("authcodes.authcode"), {"status": "unscanned"}))

    assert client.get(action)["Location"] == (
        address("authcodes.printrun", "codes") + f"?product__id__exact={batch.product_id}"
    )
    assert f'href="{address("authcodes.printrun", "codes")}?status=unscanned"' in codes


def test_invalid_list_filter_redirects_to_the_code_list(client):
    answer = client.get(address("authcodes.printrun", "codes") + "?product__id__exact=x")

    assert answer["Location"] == address("authcodes.authcode") + "?e=1"
