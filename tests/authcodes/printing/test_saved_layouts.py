"""Layouts of labels: saved, changed, chosen and refused, by those who may."""

import time
from decimal import Decimal

import pytest
from django.db import IntegrityError

from authcodes.models.prints import LabelLayout, PrintRun
from authcodes.printing import layouts
from authcodes.printing.labels.parts import to_json
from authcodes.printing.request import PrintRequest
from brands.models.audit import AuditLogEntry
from core.errors import Invalid
from tests.authcodes.printing.labels.test_label_parts import PARTS, part
from tests.authcodes.printing.studio import SHOWN, errors_of, form_data, send, where
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.portal import address, browser, staff, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def brand():
    return factories.brand(name="Tea", time_zone="Europe/Berlin")


@pytest.fixture
def batch(brand):
    product = factories.product(brand, title="Green tea", sku="TEA-1")
    return factories.batch(brand, prefix="AB-", quantity=10, range_name="Spring", product=product)


def saved(brand, name="Jars", **changed):
    parts = {name: PARTS[name] for name in SHOWN} | changed
    return layouts.create(
        brand=brand, name=name, content=layouts.Content(Decimal(70), Decimal("29.7"), parts, "Scan me")
    )


def test_layout_is_saved_chosen_and_printed(client, brand, batch):
    answer = send(client, batch, "save", layout_name="Jars")

    layout = LabelLayout.objects.get()
    assert (layout.brand, layout.name, layout.note) == (brand, "Jars", "Scan me")
    assert layout.parts == to_json({name: PARTS[name] for name in SHOWN})
    assert (layout.label_width, layout.label_height) == (Decimal(70), Decimal("29.7"))
    form = answer.context["form"]
    assert (form["layout"].value(), form["layout_name"].value()) == (str(layout.pk), "Jars")
    assert "Layout “Jars” saved." in text(answer)
    [entry] = AuditLogEntry.objects.filter(kind="authcodes.labellayout")
    assert (entry.action, entry.row_name, entry.brand) == ("Added", "Jars", brand)
    send(client, batch, "confirm", layout=layout.pk, title_left="60", note="Another")
    print_request = PrintRequest.from_json(PrintRun.objects.get().settings)
    assert (print_request.layout, print_request.note, print_request.parts) == (
        "Jars",
        "Scan me",
        {name: PARTS[name] for name in SHOWN},
    )


def test_automatic_layout_can_be_saved_as_one_begins_with(client, batch):
    answer = send(client, batch, "save", layout="", layout_name="As it was", note=None)

    assert not errors_of(answer)
    assert set(LabelLayout.objects.get().parts) == {"qr", "code", "title", "sku"}


def test_opened_layout_that_keeps_its_name_is_changed(client, brand, batch):
    layout = saved(brand)
    opened = f"{layout.pk}:{layouts.version_of(layout)}"

    answer = send(client, batch, "save", layout_name="Jars", layout_from=opened, title_top="1")

    assert not errors_of(answer)
    assert LabelLayout.objects.get().parts["title"]["top"] == "1"
    [entry] = AuditLogEntry.objects.filter(kind="authcodes.labellayout")
    assert (entry.action, list(entry.changes)) == ("Changed", ["parts"])


def test_layout_that_a_colleague_changed_since_error_is_not_overwritten(client, brand, batch):
    layout = saved(brand)
    opened = f"{layout.pk}:{layouts.version_of(layout)}"
    send(client, batch, "save", layout_name="Jars", layout_from=opened, title_top="1")

    answer = send(client, batch, "save", layout_name="Jars", layout_from=opened, title_top="0.5")

    assert "Someone else changed" in str(errors_of(answer)["layout_name"])
    assert LabelLayout.objects.get().parts["title"]["top"] == "1"


@pytest.mark.parametrize("name", ["", "   ", "Jars", "x" * 61, "a\0b"])
def test_name_that_a_layout_cannot_have_is_told_at_its_field(client, brand, batch, name):
    saved(brand)

    answer = send(client, batch, "save", layout_name=name)

    assert "layout_name" in errors_of(answer)
    assert LabelLayout.objects.count() == 1


def test_brand_has_so_many_layouts_at_most(client, brand, batch, monkeypatch):
    monkeypatch.setattr(layouts, "MAX_LAYOUTS", 1)
    saved(brand)

    assert "at most 1" in str(errors_of(send(client, batch, "save", layout_name="Tins"))["layout_name"])


def saved_at_once(brand):
    """What becomes of people who all save a layout under one name at the same moment."""

    def outcome(_number):
        try:
            return str(saved(brand))
        except (Invalid, IntegrityError) as error:
            return type(error).__name__

    return sorted(at_once(outcome, range(4)))


@pytest.mark.django_db(transaction=True)
def test_of_people_who_save_the_same_name_at_once_the_others_are_told(brand):
    assert saved_at_once(brand) == ["Invalid", "Invalid", "Invalid", "Jars"]


@pytest.mark.django_db(transaction=True)
def test_control_without_taking_turns_the_database_alone_refuses_them(brand, monkeypatch):
    def nobody_waits(_brand):
        time.sleep(0.05)

    monkeypatch.setattr(layouts, "_lock", nobody_waits)

    assert "IntegrityError" in saved_at_once(brand)


def test_new_prints_begin_with_the_default_layout_and_its_size_of_label(client, brand, batch):
    first, second = saved(brand), saved(brand, "Tins")

    assert client.get(where(batch)).context["form"]["layout"].value() == ""
    for layout in (first, second):
        client.post(address("authcodes.labellayout", "default", layout.pk))
    answer = client.get(where(batch))

    form = answer.context["form"]
    assert [row.name for row in LabelLayout.objects.filter(is_default=True)] == ["Tins"]
    assert (form["layout"].value(), form["sheet"].value(), form["note"].value()) == (str(second.pk), "a4-30", "Scan me")
    assert {box["name"] for box in answer.context["boxes"]} == set(SHOWN)
    client.post(address("authcodes.labellayout", "no_default", second.pk))
    assert client.get(where(batch)).context["form"]["layout"].value() == ""
    actions = AuditLogEntry.objects.filter(kind="authcodes.labellayout").order_by("id").values_list("action", flat=True)
    assert list(actions) == ["Made the default", "No longer the default", "Made the default", "No longer the default"]


def test_next_print_begins_with_the_layout_of_the_last(client, brand, batch):
    layout = saved(brand)
    send(client, batch, "confirm", layout=layout.pk)

    assert client.get(where(batch)).context["form"]["layout"].value() == str(layout.pk)
    layouts.delete(layout=layout)
    form = client.get(where(batch)).context["form"]
    assert (form["layout"].value(), form["title_left"].value(), form["qr_width"].value()) == ("own", "2", "24")


def test_layout_is_renamed_copied_and_deleted_on_its_page(client, brand, batch):
    layout = saved(brand)
    page = address("authcodes.labellayout", "change", layout.pk)

    shown = text(client.get(page))
    assert 'width="70mm"' in shown
    assert "Scan me" in shown
    client.post(page, {"name": "Lids"})
    copied = client.post(address("authcodes.labellayout", "copy", layout.pk))
    client.post(address("authcodes.labellayout", "copy", layout.pk))
    assert copied.status_code == 302
    assert {str(row) for row in LabelLayout.objects.all()} == {"Lids", "Lids (copy)", "Lids (copy 2)"}
    assert len({str(row.parts) for row in LabelLayout.objects.all()}) == 1
    client.post(address("authcodes.labellayout", "delete", layout.pk), {"post": "yes"})
    assert {str(row) for row in LabelLayout.objects.all()} == {"Lids (copy)", "Lids (copy 2)"}


def test_addresses_alone_change_no_layout(client, brand):
    layout = saved(brand)

    for what in ("copy", "default", "no_default"):
        assert client.get(address("authcodes.labellayout", what, layout.pk)).status_code == 302
    assert list(LabelLayout.objects.values_list("name", "is_default")) == [("Jars", False)]


def test_another_brands_layout_is_none(client, brand, batch):
    foreign = saved(factories.brand(name="zebra"), "Zebra lids")

    for button in ("edit", "test", "save", "confirm"):
        answer = send(client, batch, button, layout=foreign.pk, layout_name="Mine")
        assert "layout" in errors_of(answer), button
        assert "Zebra" not in text(answer)
    opened = f"{foreign.pk}:{layouts.version_of(foreign)}"
    send(client, batch, "save", layout_name="Zebra lids", layout_from=opened)
    foreign.refresh_from_db()
    assert foreign.parts == to_json({name: PARTS[name] for name in SHOWN})
    assert [row.brand for row in LabelLayout.objects.exclude(pk=foreign.pk)] == [brand]
    for what in ("change", "copy", "default", "no_default", "delete"):
        assert client.get(address("authcodes.labellayout", what, foreign.pk)).status_code == 404
        assert client.post(address("authcodes.labellayout", what, foreign.pk)).status_code == 404
    assert not PrintRun.objects.exists()


def test_who_works_for_two_brands_prints_with_the_layouts_of_the_codes_brand(brand, batch):
    other = factories.brand(name="Coffee")
    layout, client = saved(other), browser(staff(brand, other))
    codes = address("authcodes.printrun", "codes")

    refused = client.post(codes, {**form_data(batch, layout=layout.pk), "brand": brand.pk, "confirm": "1"})

    assert "layout" in errors_of(refused)
    assert "layout" in errors_of(send(client, batch, "confirm", layout=layout.pk))
    assert not PrintRun.objects.exists()


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("manager", 200), ("printer", 200), ("support", 403)])
def test_roles_save_layouts_as_the_table_says(brand, batch, role, status):
    answer = send(browser(staff(brand, role=role)), batch, "save", layout_name="Jars")

    assert answer.status_code == status
    assert LabelLayout.objects.count() == (1 if status == 200 else 0)


def test_content_that_cannot_be_printed_is_not_saved(brand):
    for wrong, field in (
        ({"title": part("40", "2", "20", "8")}, "title_left"),
        ({"qr": part("44", "1", "10", "10")}, "qr_width"),
    ):
        with pytest.raises(Invalid) as refused:
            saved(brand, **wrong)
        assert refused.value.details["field"] == field
