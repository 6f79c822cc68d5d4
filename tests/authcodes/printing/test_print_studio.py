"""The print studio: own layouts printed, saved and refused, the test page, and one press that prints once."""

import io
import time
from decimal import Decimal

import pytest
from django.db import IntegrityError
from PIL import Image

from authcodes.models.prints import LabelLayout, PrintRun
from authcodes.printing import layouts
from authcodes.printing.labels.parts import to_json
from authcodes.printing.request import PrintRequest
from brands.models.audit import AuditLogEntry
from brands.tenants import pictures
from core.errors import Invalid
from jobs.models import Job
from tests.authcodes.printing.labels.test_label_parts import PARTS, part
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.portal import address, browser, printed, staff, text
from tests.support.print_jobs import SCHEME, content, decode_pages, finished

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
SHOWN = ("qr", "code", "title", "sku", "note")


@pytest.fixture
def brand():
    return factories.brand(name="Tea", time_zone="Europe/Berlin")


@pytest.fixture
def batch(brand):
    product = factories.product(brand, title="Green tea", sku="TEA-1")
    return factories.batch(brand, prefix="AB-", quantity=10, range_name="Spring", product=product)


def where(batch, what="batch"):
    return address("authcodes.printrun", what, batch.pk)


def lengths(parts):
    sent = {}
    for name, box in parts.items():
        for length in ("left", "top", "width", *(() if name == "qr" else ("height",))):
            sent[f"{name}_{length}"] = str(getattr(box, length))
        if box.centred:
            sent[f"{name}_centred"] = "on"
    return sent


def asked(batch, *, parts=None, **fields):
    """What the form sends for labels placed by hand, on a sheet whose labels are 70 x 29.7 mm."""
    parts = parts or {name: PARTS[name] for name in SHOWN}
    usual = {"what": "labels", "payload": "address", "level": "M", "sheet": "a4-30", "start": "1", "layout": "own"}
    texts = {"title": "on", "sku": "on", "note": "Scan me"}
    codes = {"first": batch.first_code, "last": batch.last_code}
    sent = {**usual, **texts, **codes, **lengths(parts), **fields}
    return {name: value for name, value in sent.items() if value is not None}


def send(client, batch, button, **fields):
    return client.post(where(batch), {**asked(batch, **fields), button: "1"})


def errors_of(answer):
    return dict(answer.context["form"].errors)


def saved(brand, name="Jars", **changed):
    parts = {name: PARTS[name] for name in SHOWN} | changed
    return layouts.create(
        brand=brand, name=name, content=layouts.Content(Decimal(70), Decimal("29.7"), parts, "Scan me")
    )


# --- Own layouts -----------------------------------------------------------------------------------------------------


def test_labels_are_printed_as_they_were_placed_and_read_back(client, batch, tmp_path):
    send(client, batch, "confirm")
    run = finished(PrintRun.objects.get())

    wanted = PrintRequest.read(run.settings)
    assert wanted.parts == {name: PARTS[name] for name in SHOWN}
    assert (run.job.status, run.read_back, run.pages_read) == ("done", 10, 1)
    expected = [f"{SCHEME}://{batch.brand.hostnames.get()}/s/AB-{number:04d}" for number in range(1, 11)]
    assert decode_pages(content(run.job), tmp_path) == [expected]
    page = text(client.get(address("authcodes.printrun", "change", run.pk)))
    assert "Placed by hand" in page


def test_the_label_and_page_1_are_shown_with_the_parts_where_they_are(client, batch):
    answer = client.get(where(batch, "preview"), asked(batch))

    boxes = {box["name"]: box for box in answer.context["boxes"]}
    assert set(boxes) == set(SHOWN)
    assert boxes["qr"] == {
        "name": "qr", "left": "44", "top": "1", "width": "24", "height": "24",
    }  # fmt: skip
    shown = text(answer)
    assert 'width="70mm" height="29.7mm"' in shown
    assert ">Scan me<" in shown
    assert "data:image/svg+xml" in shown


LOGO = {"logo_left": "25", "logo_top": "19", "logo_width": "15", "logo_height": "6"}
NO_SIZE = {
    "sheet": "custom", "page_width": "210", "page_height": "297", "left": "10", "top": "10", "label_width": "70",
    "label_height": "30", "pitch_x": "70", "pitch_y": "30", "columns": "2", "rows": "5",
}  # fmt: skip
WRONG = [
    ({"qr_left": "60"}, "qr_left", "beyond the label"),
    ({"qr_width": "19"}, "qr_width", "At least 20 mm"),
    ({"qr_width": "21", "level": "H", "first": "1"}, "qr_width", "lower error correction"),
    ({"title_left": "30"}, "title_left", "covers the QR code"),
    ({"sku_top": "9"}, "sku_left", "overlaps another part"),
    ({"note_height": "0.5"}, "note_height", "At least 1.8 mm"),
    ({"code_width": "5", "code_height": "1.8"}, "code_width", "Too small to be read"),
    ({"title_top": ""}, "title_top", "Enter a number of millimetres"),
    ({"title_top": None}, "title_top", "Enter a number of millimetres"),
    ({"title_left": "abc"}, "title_left", "Enter a number"),
    ({"title_left": "NaN"}, "title_left", "Enter a number"),
    ({"title_left": "1e9"}, "title_left", "digits"),
    ({"title_width": "-4"}, "title_width", "At least 5 mm"),
    ({"qr_width": "0"}, "qr_width", "At least 20 mm"),
    ({"logo": "on", **LOGO}, "logo", "no logo yet"),
    ({"layout": "0"}, "layout", "valid choice"),
    ({"layout": "x" * 400}, "layout", "valid choice"),
    ({**NO_SIZE, "label_width": "0"}, "label_width", "at least 20 mm"),
    ({**NO_SIZE, "label_height": "-4"}, "label_height", "between 0 and"),
]


@pytest.mark.parametrize(("wrong", "field", "said"), WRONG)
@pytest.mark.parametrize("button", ["edit", "test", "save", "confirm", "live"])
def test_what_is_wrong_with_a_part_is_told_there_and_nothing_typed_is_lost(client, batch, wrong, field, said, button):
    if "lower error correction" in said:
        batch.brand.hostnames.update(hostname="a-rather-long-name-for-codes.example.com")
        batch = factories.batch(batch.brand, prefix="LONGER-PREFIX-OF-CODES-", quantity=3, product=batch.product)
        wrong = {**wrong, "first": batch.first_code}
    if button == "live":
        answer = client.get(where(batch, "preview"), asked(batch, **wrong))
    else:
        answer = send(client, batch, button, layout_name="Jars", **wrong)

    assert answer.status_code == 200
    assert said in " ".join(errors_of(answer)[field]), errors_of(answer)
    assert said in text(answer)
    for name, value in wrong.items():
        if value and button != "live" and name in answer.context["form"].fields and len(value) < 60:
            assert f'value="{value}"' in text(answer) or name in {"level", "logo", "layout"}
    assert not PrintRun.objects.exists()
    assert not LabelLayout.objects.exists()


def test_what_is_typed_for_parts_that_are_not_printed_does_not_matter(client, batch):
    answer = send(client, batch, "confirm", sku=None, sku_left="abc", logo_left="-9")

    assert answer.status_code == 302
    assert "sku" not in PrintRequest.read(PrintRun.objects.get().settings).parts


def test_logo_is_printed_in_its_box_and_not_on_the_code(client, batch, tmp_path):
    drawn = io.BytesIO()
    Image.new("RGBA", (300, 100), (0, 0, 120, 255)).save(drawn, "PNG")
    picture = pictures.store(brand=batch.brand, drawn=pictures.logo(drawn.getvalue()))
    type(batch.brand).objects.filter(pk=batch.brand_id).update(logo=picture)

    covered = send(client, batch, "confirm", logo="on", **lengths({"logo": part("45", "5", "9", "9")}))
    send(client, batch, "confirm", logo="on", **lengths({"logo": PARTS["logo"]}))
    run = finished(PrintRun.objects.get())

    assert "covers the QR code" in str(errors_of(covered)["logo_left"])
    assert len(decode_pages(content(run.job), tmp_path)[0]) == 10


# --- Saved layouts ---------------------------------------------------------------------------------------------------


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
    wanted = PrintRequest.read(PrintRun.objects.get().settings)
    assert (wanted.layout, wanted.note, wanted.parts) == ("Jars", "Scan me", {name: PARTS[name] for name in SHOWN})


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
    said = AuditLogEntry.objects.filter(kind="authcodes.labellayout").order_by("id").values_list("action", flat=True)
    assert list(said) == ["Made the default", "No longer the default", "Made the default", "No longer the default"]


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

    refused = client.post(codes, {**asked(batch, layout=layout.pk), "brand": brand.pk, "confirm": "1"})

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


# --- One press prints once -------------------------------------------------------------------------------------------

PRESS = "0e2f4b8c-7d1a-4f3e-9a55-3c1f7be10a11"


def test_second_press_leads_to_what_the_first_one_started(client, batch):
    first = send(client, batch, "confirm", page_token=PRESS)

    second = client.post(where(batch), {**asked(batch, page_token=PRESS), "confirm": "1"}, follow=True)

    assert PrintRun.objects.count() == Job.objects.filter(kind="print-batch").count() == 1
    assert second.redirect_chain == [(first["Location"], 302)]
    assert "It will not be printed twice." in text(second)


@pytest.mark.django_db(transaction=True)
def test_presses_at_the_same_moment_print_once(owner, batch):
    before = printed(batch)

    def press(window):
        return send(window, batch, "confirm", page_token=PRESS, again=before.pk)["Location"]

    assert len(set(at_once(press, [browser(owner) for _ in range(4)]))) == 1
    assert PrintRun.objects.count() == 2


def test_other_settings_on_the_same_page_are_another_print_which_asks(client, batch):
    send(client, batch, "confirm", page_token=PRESS)

    answer = send(client, batch, "confirm", page_token=PRESS, note="Keep dry")

    assert answer.status_code == 200
    assert "Nothing was printed yet." in text(answer)
    assert (
        send(client, batch, "confirm", page_token=PRESS, note="Keep dry", again=PrintRun.objects.get().pk).status_code
        == 302
    )
    assert PrintRun.objects.count() == 2


@pytest.mark.parametrize("press", ["", "x", "9" * 500, "'; --"])
def test_press_of_no_page_of_ours_prints_and_asks_as_ever(client, batch, press):
    assert send(client, batch, "confirm", page_token=press).status_code == 302
    assert send(client, batch, "confirm", page_token=press).status_code == 200
    assert PrintRun.objects.count() == 1


def test_what_was_printed_before_is_said_before_anything_is_pressed(client, batch):
    run = printed(batch)

    answer = client.get(where(batch))

    assert "have been printed before" in text(answer)
    assert f'name="again" id="id_again" value="{run.pk}"' in text(answer)
