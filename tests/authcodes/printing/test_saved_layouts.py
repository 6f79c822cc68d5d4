"""Label layouts: saved, changed, chosen and rejected, depending on role and brand."""

import time
from decimal import Decimal

import pytest
from django.db import IntegrityError

from authcodes.admin.printing import saved_layouts
from authcodes.models.prints import LabelLayout, PrintRun
from authcodes.printing import layouts
from authcodes.printing.labels.parts import to_json
from authcodes.printing.request import PrintRequest
from brands.models.audit import AuditLogEntry
from core.errors import Invalid
from tests.authcodes.printing.labels.test_label_parts import PARTS, part
from tests.authcodes.printing.studio import VISIBLE, errors_of, form_data, post_form, print_url
from tests.support import factories
from tests.support.concurrency import run_concurrently
from tests.support.portal import address, browser, staff, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def brand():
    return factories.brand(name="Tea", time_zone="Europe/Berlin")


@pytest.fixture
def batch(brand):
    product = factories.product(brand, title="Green tea", sku="TEA-1")
    return factories.batch(brand, prefix="AB-", quantity=10, range_name="Spring", product=product)


def saved_layout(brand, name="Jars", **changed_parts):
    parts = {name: PARTS[name] for name in VISIBLE} | changed_parts
    return layouts.create(
        brand=brand, name=name, content=layouts.Content(Decimal(70), Decimal("29.7"), parts, "Scan me")
    )


def test_layout_is_saved_chosen_and_printed(client, brand, batch):
    answer = post_form(client, batch, "save", layout_name="Jars")

    layout = LabelLayout.objects.get()
    assert (layout.brand, layout.name, layout.note) == (brand, "Jars", "Scan me")
    assert layout.parts == to_json({name: PARTS[name] for name in VISIBLE})
    assert (layout.label_width, layout.label_height) == (Decimal(70), Decimal("29.7"))
    form = answer.context["form"]
    assert (form["layout"].value(), form["layout_name"].value()) == (str(layout.pk), "Jars")
    assert "Layout “Jars” saved." in text(answer)
    [entry] = AuditLogEntry.objects.filter(kind="authcodes.labellayout")
    assert (entry.action, entry.row_name, entry.brand) == ("Added", "Jars", brand)
    post_form(client, batch, "confirm", layout=layout.pk, title_left="60", note="Another")
    print_request = PrintRequest.from_json(PrintRun.objects.get().settings)
    assert (print_request.layout, print_request.note, print_request.parts) == (
        "Jars",
        "Scan me",
        {name: PARTS[name] for name in VISIBLE},
    )


def test_automatic_layout_can_be_saved_as_a_layout(client, batch):
    answer = post_form(client, batch, "save", layout="", layout_name="As it was", note=None)

    assert not errors_of(answer)
    assert set(LabelLayout.objects.get().parts) == {"qr", "code", "title", "sku"}


def test_saving_an_opened_layout_under_its_name_changes_it(client, brand, batch):
    layout = saved_layout(brand)
    opened = f"{layout.pk}:{layouts.version_of(layout)}"

    answer = post_form(client, batch, "save", layout_name="Jars", layout_from=opened, title_top="1")

    assert not errors_of(answer)
    assert LabelLayout.objects.get().parts["title"]["top"] == "1"
    [entry] = AuditLogEntry.objects.filter(kind="authcodes.labellayout")
    assert (entry.action, list(entry.changes)) == ("Changed", ["parts"])


@pytest.mark.parametrize("is_opened", [False, True])
def test_layout_is_not_saved_without_its_audit_entry(client, brand, batch, monkeypatch, is_opened):
    layout = saved_layout(brand)
    opened = f"{layout.pk}:{layouts.version_of(layout)}"
    fields = {"layout_name": "Jars", "layout_from": opened} if is_opened else {"layout_name": "Tins"}

    def crash(**_entry):
        raise ConnectionError("the database is gone")

    monkeypatch.setattr(saved_layouts.audit_log, "record", crash)
    with pytest.raises(ConnectionError):
        post_form(client, batch, "save", title_top="1", **fields)

    assert LabelLayout.objects.get().parts == to_json({name: PARTS[name] for name in VISIBLE})


def test_layout_changed_by_a_colleague_is_not_overwritten(client, brand, batch):
    layout = saved_layout(brand)
    opened = f"{layout.pk}:{layouts.version_of(layout)}"
    post_form(client, batch, "save", layout_name="Jars", layout_from=opened, title_top="1")

    answer = post_form(client, batch, "save", layout_name="Jars", layout_from=opened, title_top="0.5")

    assert "Someone else changed" in str(errors_of(answer)["layout_name"])
    assert LabelLayout.objects.get().parts["title"]["top"] == "1"


@pytest.mark.parametrize("name", ["", "   ", "Jars", "x" * 61, "a\0b"])
def test_invalid_layout_name_is_reported_at_its_field(client, brand, batch, name):
    saved_layout(brand)

    answer = post_form(client, batch, "save", layout_name=name)

    assert "layout_name" in errors_of(answer)
    assert LabelLayout.objects.count() == 1


def test_number_of_layouts_of_a_brand_is_limited(client, brand, batch, monkeypatch):
    monkeypatch.setattr(layouts, "MAX_LAYOUTS", 1)
    saved_layout(brand)

    assert "at most 1" in str(errors_of(post_form(client, batch, "save", layout_name="Tins"))["layout_name"])


def outcomes_of_concurrent_saves(brand):
    """The outcomes when several users save a layout under one name at the same moment."""

    def outcome(_number):
        try:
            return str(saved_layout(brand))
        except (Invalid, IntegrityError) as error:
            return type(error).__name__

    return sorted(run_concurrently(outcome, range(4)))


@pytest.mark.django_db(transaction=True)
def test_concurrent_saves_of_one_name_save_one_and_reject_the_others(brand):
    assert outcomes_of_concurrent_saves(brand) == ["Invalid", "Invalid", "Invalid", "Jars"]


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_only_the_database_rejects_duplicates(brand, monkeypatch):
    def pause_without_lock(_brand):
        time.sleep(0.05)

    monkeypatch.setattr(layouts, "_lock", pause_without_lock)

    assert "IntegrityError" in outcomes_of_concurrent_saves(brand)


def test_new_prints_start_with_the_default_layout_and_its_label_size(client, brand, batch):
    first, second = saved_layout(brand), saved_layout(brand, "Tins")

    assert client.get(print_url(batch)).context["form"]["layout"].value() == ""
    for layout in (first, second):
        client.post(address("authcodes.labellayout", "default", layout.pk))
    answer = client.get(print_url(batch))

    form = answer.context["form"]
    assert [row.name for row in LabelLayout.objects.filter(is_default=True)] == ["Tins"]
    assert (form["layout"].value(), form["sheet"].value(), form["note"].value()) == (str(second.pk), "a4-30", "Scan me")
    assert {box["name"] for box in answer.context["boxes"]} == set(VISIBLE)
    client.post(address("authcodes.labellayout", "no_default", second.pk))
    assert client.get(print_url(batch)).context["form"]["layout"].value() == ""
    actions = AuditLogEntry.objects.filter(kind="authcodes.labellayout").order_by("id").values_list("action", flat=True)
    assert list(actions) == ["Made the default", "No longer the default", "Made the default", "No longer the default"]


def test_next_print_starts_with_the_layout_of_the_last(client, brand, batch):
    layout = saved_layout(brand)
    post_form(client, batch, "confirm", layout=layout.pk)

    assert client.get(print_url(batch)).context["form"]["layout"].value() == str(layout.pk)
    layouts.delete(layout=layout)
    form = client.get(print_url(batch)).context["form"]
    assert (form["layout"].value(), form["title_left"].value(), form["qr_width"].value()) == ("own", "2", "24")


def test_layout_is_renamed_copied_and_deleted_on_its_page(client, brand, batch):
    layout = saved_layout(brand)
    page = address("authcodes.labellayout", "change", layout.pk)

    page_text = text(client.get(page))
    assert 'width="70mm"' in page_text
    assert "Scan me" in page_text
    client.post(page, {"name": "Lids"})
    copy_answer = client.post(address("authcodes.labellayout", "copy", layout.pk))
    client.post(address("authcodes.labellayout", "copy", layout.pk))
    assert copy_answer.status_code == 302
    assert {str(row) for row in LabelLayout.objects.all()} == {"Lids", "Lids (copy)", "Lids (copy 2)"}
    assert len({str(row.parts) for row in LabelLayout.objects.all()}) == 1
    client.post(address("authcodes.labellayout", "delete", layout.pk), {"post": "yes"})
    assert {str(row) for row in LabelLayout.objects.all()} == {"Lids (copy)", "Lids (copy 2)"}


def test_get_requests_do_not_change_layouts(client, brand):
    layout = saved_layout(brand)

    for action in ("copy", "default", "no_default"):
        assert client.get(address("authcodes.labellayout", action, layout.pk)).status_code == 302
    assert list(LabelLayout.objects.values_list("name", "is_default")) == [("Jars", False)]


def test_another_brands_layout_is_not_available(client, brand, batch):
    other_layout = saved_layout(factories.brand(name="zebra"), "Zebra lids")

    for button in ("edit", "test", "save", "confirm"):
        answer = post_form(client, batch, button, layout=other_layout.pk, layout_name="Mine")
        assert "layout" in errors_of(answer), button
        assert "Zebra" not in text(answer)
    opened = f"{other_layout.pk}:{layouts.version_of(other_layout)}"
    post_form(client, batch, "save", layout_name="Zebra lids", layout_from=opened)
    other_layout.refresh_from_db()
    assert other_layout.parts == to_json({name: PARTS[name] for name in VISIBLE})
    assert [row.brand for row in LabelLayout.objects.exclude(pk=other_layout.pk)] == [brand]
    for action in ("change", "copy", "default", "no_default", "delete"):
        assert client.get(address("authcodes.labellayout", action, other_layout.pk)).status_code == 404
        assert client.post(address("authcodes.labellayout", action, other_layout.pk)).status_code == 404
    assert not PrintRun.objects.exists()


def test_layout_of_another_brand_of_the_same_user_is_rejected(brand, batch):
    other_brand = factories.brand(name="Coffee")
    layout, client = saved_layout(other_brand), browser(staff(brand, other_brand))
    codes = address("authcodes.printrun", "codes")

    rejected = client.post(codes, {**form_data(batch, layout=layout.pk), "brand": brand.pk, "confirm": "1"})

    assert "layout" in errors_of(rejected)
    assert "layout" in errors_of(post_form(client, batch, "confirm", layout=layout.pk))
    assert not PrintRun.objects.exists()


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("manager", 200), ("printer", 200), ("support", 403)])
def test_roles_have_the_documented_layout_permissions(brand, batch, role, status):
    answer = post_form(browser(staff(brand, role=role)), batch, "save", layout_name="Jars")

    assert answer.status_code == status
    assert LabelLayout.objects.count() == (1 if status == 200 else 0)


def test_layout_that_cannot_be_printed_is_not_saved(brand):
    for wrong, field in (
        ({"title": part("40", "2", "20", "8")}, "title_left"),
        ({"qr": part("44", "1", "10", "10")}, "qr_width"),
    ):
        with pytest.raises(Invalid) as rejected:
            saved_layout(brand, **wrong)
        assert rejected.value.details["field"] == field
