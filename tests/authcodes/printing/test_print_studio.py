"""The print studio: hand-placed labels that are printed or rejected, and one press that prints once."""

import io

import pytest
from PIL import Image

from authcodes.models.prints import LabelLayout, PrintRun
from authcodes.printing.request import PrintRequest
from brands.tenants import pictures
from jobs.models import Job
from tests.authcodes.printing.labels.test_label_parts import PARTS, part
from tests.authcodes.printing.studio import VISIBLE, errors_of, form_data, part_fields, post_form, print_url
from tests.support import factories
from tests.support.concurrency import run_concurrently
from tests.support.portal import address, browser, print_run_of, text
from tests.support.print_jobs import SCHEME, content, decode_pages, finished

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def brand():
    return factories.brand(name="Tea", time_zone="Europe/Berlin")


@pytest.fixture
def batch(brand):
    product = factories.product(brand, title="Green tea", sku="TEA-1")
    return factories.batch(brand, prefix="AB-", quantity=10, range_name="Spring", product=product)


# --- Own layouts -----------------------------------------------------------------------------------------------------


def test_labels_with_hand_placed_parts_are_printed_and_read_back(client, batch, tmp_path):
    post_form(client, batch, "confirm")
    run = finished(PrintRun.objects.get())

    print_request = PrintRequest.from_json(run.settings)
    assert print_request.parts == {name: PARTS[name] for name in VISIBLE}
    assert (run.job.status, run.read_back, run.pages_read) == ("done", 10, 1)
    expected = [f"{SCHEME}://{batch.brand.hostnames.get()}/s/AB-{number:04d}" for number in range(1, 11)]
    assert decode_pages(content(run.job), tmp_path) == [expected]
    page = text(client.get(address("authcodes.printrun", "change", run.pk)))
    assert "Placed by hand" in page


def test_preview_shows_the_label_and_page_1_with_the_placed_parts(client, batch):
    answer = client.get(print_url(batch, "preview"), form_data(batch))

    boxes = {box["name"]: box for box in answer.context["boxes"]}
    assert set(boxes) == set(VISIBLE)
    assert boxes["qr"] == {
        "name": "qr", "left": "44", "top": "1", "width": "24", "height": "24",
    }  # fmt: skip
    preview = text(answer)
    assert 'width="70mm" height="29.7mm"' in preview
    assert ">Scan me<" in preview
    assert "data:image/svg+xml" in preview


LOGO = {"logo_left": "25", "logo_top": "19", "logo_width": "15", "logo_height": "6"}
NO_SIZE = {
    "sheet": "custom", "page_width": "210", "page_height": "297", "left": "10", "top": "10", "label_width": "70",
    "label_height": "30", "pitch_x": "70", "pitch_y": "30", "columns": "2", "rows": "5",
}  # fmt: skip
INVALID = [
    ({"qr_left": "60"}, "qr_left", "beyond the label"),
    ({"qr_width": "19"}, "qr_width", "At least 20 mm"),
    ({"qr_width": "21", "level": "H", "first": "1"}, "qr_width", "lower error correction"),
    ({"title_left": "30"}, "title_left", "covers the QR code"),
    ({"sku_top": "9"}, "sku_left", "overlaps another part"),
    ({"note_height": "0.5"}, "note_height", "At least 1.8 mm"),
    ({"code_width": "5", "code_height": "1.8"}, "code_width", "The code is too small to read"),
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


@pytest.mark.parametrize(("wrong", "field", "message"), INVALID)
@pytest.mark.parametrize("button", ["edit", "test", "save", "confirm", "live"])
def test_invalid_part_is_reported_at_its_field_and_the_input_is_retained(client, batch, wrong, field, message, button):
    if "lower error correction" in message:
        batch.brand.hostnames.update(hostname="a-rather-long-name-for-codes.example.com")
        batch = factories.batch(batch.brand, prefix="LONGER-PREFIX-OF-CODES-", quantity=3, product=batch.product)
        wrong = {**wrong, "first": batch.first_code}
    if button == "live":
        answer = client.get(print_url(batch, "preview"), form_data(batch, **wrong))
    else:
        answer = post_form(client, batch, button, layout_name="Jars", **wrong)

    assert answer.status_code == 200
    assert message in " ".join(errors_of(answer)[field]), errors_of(answer)
    assert message in text(answer)
    for name, value in wrong.items():
        if value and button != "live" and name in answer.context["form"].fields and len(value) < 60:
            assert f'value="{value}"' in text(answer) or name in {"level", "logo", "layout"}
    assert not PrintRun.objects.exists()
    assert not LabelLayout.objects.exists()


def test_input_for_parts_that_are_not_printed_is_ignored(client, batch):
    answer = post_form(client, batch, "confirm", sku=None, sku_left="abc", logo_left="-9")

    assert answer.status_code == 302
    assert "sku" not in PrintRequest.from_json(PrintRun.objects.get().settings).parts


def test_logo_is_printed_in_its_box_and_cannot_cover_the_code(client, batch, tmp_path):
    image_file = io.BytesIO()
    Image.new("RGBA", (300, 100), (0, 0, 120, 255)).save(image_file, "PNG")
    picture = pictures.store(brand=batch.brand, encoded=pictures.logo(image_file.getvalue()))
    type(batch.brand).objects.filter(pk=batch.brand_id).update(logo=picture)

    covering = post_form(client, batch, "confirm", logo="on", **part_fields({"logo": part("45", "5", "9", "9")}))
    post_form(client, batch, "confirm", logo="on", **part_fields({"logo": PARTS["logo"]}))
    run = finished(PrintRun.objects.get())

    assert "covers the QR code" in str(errors_of(covering)["logo_left"])
    assert len(decode_pages(content(run.job), tmp_path)[0]) == 10


# --- One press prints once -------------------------------------------------------------------------------------------

PAGE_TOKEN = "0e2f4b8c-7d1a-4f3e-9a55-3c1f7be10a11"


def test_second_press_redirects_to_the_run_of_the_first(client, batch):
    first = post_form(client, batch, "confirm", page_token=PAGE_TOKEN)

    second = client.post(print_url(batch), {**form_data(batch, page_token=PAGE_TOKEN), "confirm": "1"}, follow=True)

    assert PrintRun.objects.count() == Job.objects.filter(kind="print-batch").count() == 1
    assert second.redirect_chain == [(first["Location"], 302)]
    assert "It will not be printed twice." in text(second)


@pytest.mark.django_db(transaction=True)
def test_concurrent_presses_print_once(owner, batch):
    earlier_run = print_run_of(batch)

    def press(browser_window):
        return post_form(browser_window, batch, "confirm", page_token=PAGE_TOKEN, again=earlier_run.pk)["Location"]

    assert len(set(run_concurrently(press, [browser(owner) for _ in range(4)]))) == 1
    assert PrintRun.objects.count() == 2


def test_changed_settings_on_the_same_page_must_be_confirmed(client, batch):
    post_form(client, batch, "confirm", page_token=PAGE_TOKEN)

    answer = post_form(client, batch, "confirm", page_token=PAGE_TOKEN, note="Keep dry")

    assert answer.status_code == 200
    assert "Nothing has been printed yet." in text(answer)
    assert (
        post_form(
            client, batch, "confirm", page_token=PAGE_TOKEN, note="Keep dry", again=PrintRun.objects.get().pk
        ).status_code
        == 302
    )
    assert PrintRun.objects.count() == 2


@pytest.mark.parametrize("page_token", ["", "x", "9" * 500, "'; --"])
def test_press_with_an_unknown_page_token_prints_and_asks_as_usual(client, batch, page_token):
    assert post_form(client, batch, "confirm", page_token=page_token).status_code == 302
    assert post_form(client, batch, "confirm", page_token=page_token).status_code == 200
    assert PrintRun.objects.count() == 1


def test_opened_page_warns_about_codes_printed_before(client, batch):
    run = print_run_of(batch)

    answer = client.get(print_url(batch))

    assert "have been printed before" in text(answer)
    assert f'name="again" id="id_again" value="{run.pk}"' in text(answer)
