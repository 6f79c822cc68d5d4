"""What the front page offers next, and the page of batches to print."""

import pytest
from django.db import connection
from django.template.loader import render_to_string
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from authcodes.printing.labels.presets import PRESETS, preset_for
from authcodes.recalls import recalls
from brands.identity.roles import TABLE
from tests.support import factories
from tests.support.portal import LABELS, address, browser, staff, text

HOME, CHOOSE = reverse("admin:index"), reverse("admin:authcodes_printrun_choose")
TILL = reverse("admin:loyalty_redemption_till")


def front_page(brand, role):
    return browser(staff(brand, role=role)).get(HOME)


@pytest.mark.parametrize(
    ("role", "shortcuts"),
    [("owner", [TILL, CHOOSE]), ("manager", [TILL, CHOOSE]), ("printer", [CHOOSE]), ("support", [TILL])],
)
def test_each_role_reaches_its_work_in_one_tap(brand, role, shortcuts):
    answer = front_page(brand, role)

    assert [each.link for each in answer.context["shortcuts"]] == shortcuts
    assert all(f'href="{link}"' in text(answer) for link in shortcuts)


def test_who_prints_finds_on_the_front_page_what_can_be_printed(brand):
    ready = factories.batch(brand, range_name="Ready", quantity=2)
    recalled = factories.batch(brand, range_name="Recalled", quantity=2)
    recall_fields = {"recall_id": "R-7", "contact": "x@example.com", "message": "Bring it back.", "reason": "Found."}
    recalls.recall_batch(batch=recalled, at=timezone.now(), **recall_fields)
    factories.expired_code(brand)
    factories.batch(factories.brand(), range_name="Elsewhere", quantity=2)

    answer = front_page(brand, "printer")

    assert [each.batch for each in answer.context["printable"]] == [ready]
    assert reverse("admin:authcodes_printrun_batch", args=[ready.pk]) in text(answer)
    assert "printable" not in front_page(brand, "owner").context


def test_print_runs_lead_to_the_batches_to_print(brand):
    batch = factories.batch(brand, range_name="Ready", quantity=2)
    client = browser(staff(brand, role="printer"))

    listed = client.get(address("authcodes.printrun"))
    led = client.get(reverse("admin:authcodes_printrun_print_codes"), follow=True)

    assert "Print codes" in text(listed)
    assert led.redirect_chain == [(CHOOSE, 302)]
    assert reverse("admin:authcodes_printrun_batch", args=[batch.pk]) in text(led)


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("printer", 200), ("support", 403)])
def test_batches_to_print_are_for_who_prints(brand, role, status):
    assert browser(staff(brand, role=role)).get(CHOOSE).status_code == status


def test_the_front_page_costs_the_same_for_any_number_of_batches(brand):
    def cost():
        client = browser(staff(brand, role="printer"))
        with CaptureQueriesContext(connection) as queries:
            client.get(HOME)
        return len(queries)

    factories.batch(brand, quantity=1)
    few = cost()
    for _ in range(4):
        factories.batch(brand, quantity=1)

    assert cost() == few


@pytest.mark.parametrize("label", LABELS)
def test_every_empty_list_says_what_it_is_and_how_a_first_row_comes(label):
    rendered = render_to_string("admin/empty_state.html", {"label": label}).strip()

    assert len(rendered) >= 40
    assert rendered != render_to_string("admin/empty_state.html", {"label": "no.such"}).strip()


def test_support_sees_the_pages_of_its_job_only():
    seen = {label for label, verbs in TABLE.items() if "v" in verbs["support"]}

    assert not seen & {
        "authcodes.codeprefix",
        "authcodes.import",
        "authcodes.labellayout",
        "authcodes.printer",
        "authcodes.printrun",
        "brands.apikey",
        "loyalty.currencyrate",
        "events.event",
        "loyalty.notificationsettings",
        "loyalty.notificationtemplate",
        "loyalty.senderdomain",
        "loyalty.walletissuer",
    }
    assert {"loyalty.userpoints", "loyalty.redemption", "authcodes.scan", "loyalty.notificationdelivery"} <= seen


@pytest.mark.parametrize(
    ("zone", "preset"),
    [
        ("Europe/Berlin", "a4-30"),
        ("Asia/Kolkata", "a4-30"),
        ("America/New_York", "letter-30"),
        ("America/Santiago", "letter-30"),
        ("America/Sao_Paulo", "a4-30"),
        ("America/Bahia_Banderas", "letter-30"),
        ("America/Argentina/Cordoba", "a4-30"),
        ("America/Bogota", "letter-30"),
        ("America/Caracas", "letter-30"),
        ("America/Managua", "letter-30"),
        ("America/El_Salvador", "letter-30"),
        ("America/Puerto_Rico", "letter-30"),
        ("America/Indiana/Knox", "letter-30"),
        ("America/Tegucigalpa", "a4-30"),
        ("America/Havana", "a4-30"),
        ("America/Santo_Domingo", "a4-30"),
        ("America/Nuuk", "a4-30"),
        ("America/Thule", "a4-30"),
        ("America/Miquelon", "a4-30"),
        ("Asia/Manila", "letter-30"),
        ("Asia/Tokyo", "a4-30"),
        ("Mexico/General", "letter-30"),
        ("Pacific/Honolulu", "letter-30"),
        ("Pacific/Guam", "letter-30"),
        ("Pacific/Auckland", "a4-30"),
        ("EST5EDT", "letter-30"),
        ("UTC", "letter-30"),
        ("", "letter-30"),
    ],
)
def test_the_first_sheet_is_of_the_paper_where_the_brand_is(zone, preset):
    assert preset_for(zone) == preset
    assert PRESETS[preset].sheet.per_page == 30


def test_a_first_print_begins_with_the_brands_paper(db):
    brand = factories.brand(time_zone="Europe/Berlin")
    batch = factories.batch(brand, quantity=2)

    answer = browser(staff(brand)).get(reverse("admin:authcodes_printrun_batch", args=[batch.pk]))

    assert answer.context["form"]["sheet"].value() == "a4-30"
