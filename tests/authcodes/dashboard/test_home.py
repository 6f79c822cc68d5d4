"""Shortcuts and printable batches on Home, choosing a batch to print, the first preset, and what lists are for."""

import re
from functools import cache

import pytest
from django.db import connection
from django.template.loader import get_template, render_to_string
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from authcodes.codes import printed_batches
from authcodes.codes.batches import BatchSettings
from authcodes.printing.labels.presets import PRESETS, preset_for
from authcodes.recalls import recalls
from jobs.models import Job
from tests.support import factories
from tests.support.portal import LABELS, address, browser, print_run_of, staff, text, without_rendering

HOME_URL, CHOOSE_BATCH_URL = reverse("admin:index"), reverse("admin:authcodes_printrun_choose")
TILL_URL = reverse("admin:loyalty_redemption_till")
# Two lists of the same progress have one explanation.
PROGRESS = {"campaigns.rewardclaim", "campaigns.userloyaltycampaign"}
# What support needs to answer customers; nothing that prints, sends, configures or connects.
SUPPORT_LISTS = {
    "authcodes.authcode",
    "authcodes.batchrange",
    "authcodes.codechange",
    "authcodes.fakereport",
    "authcodes.product",
    "authcodes.recall",
    "authcodes.scan",
    "authcodes.withdrawnrecall",
    "brands.brand",
    "brands.savedlist",
    "brands.user",
    "campaigns.campaign",
    "campaigns.earningrule",
    "campaigns.eventkind",
    "campaigns.replay",
    "campaigns.rewardclaim",
    "campaigns.userloyaltycampaign",
    "jobs.job",
    "loyalty.brandlevel",
    "loyalty.levelchange",
    "loyalty.loyaltytransaction",
    "loyalty.notificationdelivery",
    "loyalty.orderreturn",
    "loyalty.pointsapproval",
    "loyalty.pointtransfer",
    "loyalty.redemption",
    "loyalty.referral",
    "loyalty.referralprogramme",
    "loyalty.reward",
    "loyalty.segment",
    "loyalty.suppressedaddress",
    "loyalty.userpoints",
    "loyalty.walletpass",
}


def open_home(brand, role):
    return browser(staff(brand, role=role)).get(HOME_URL)


@pytest.mark.parametrize(
    ("role", "shortcuts"),
    [
        ("owner", [TILL_URL, CHOOSE_BATCH_URL]),
        ("manager", [TILL_URL, CHOOSE_BATCH_URL]),
        ("printer", [CHOOSE_BATCH_URL]),
        ("support", [TILL_URL]),
    ],
)
def test_home_has_the_shortcuts_of_each_role(brand, role, shortcuts):
    answer = open_home(brand, role)

    assert [item.link for item in answer.context["shortcuts"]] == shortcuts
    assert all(f'href="{link}"' in text(answer) for link in shortcuts)


def test_home_of_printers_lists_only_printable_batches(brand):
    ready = factories.batch(brand, range_name="Ready", quantity=2)
    recalled = factories.batch(brand, range_name="Recalled", quantity=2)
    recall_fields = {"recall_id": "R-7", "contact": "x@example.com", "message": "Bring it back.", "reason": "Found."}
    recalls.recall_batch(batch=recalled, at=timezone.now(), **recall_fields)
    factories.expired_code(brand)
    factories.batch(factories.brand(), range_name="Elsewhere", quantity=2)

    answer = open_home(brand, "printer")

    assert [item.batch for item in answer.context["printable"]] == [ready]
    assert reverse("admin:authcodes_printrun_batch", args=[ready.pk]) in text(answer)
    assert "printable" not in open_home(brand, "owner").context


def test_print_run_list_links_to_the_batch_selection(brand):
    batch = factories.batch(brand, range_name="Ready", quantity=2)
    client = browser(staff(brand, role="printer"))

    listed = client.get(address("authcodes.printrun"))
    redirected = client.get(reverse("admin:authcodes_printrun_print_codes"), follow=True)

    assert "Print codes" in text(listed)
    assert redirected.redirect_chain == [(CHOOSE_BATCH_URL, 302)]
    assert reverse("admin:authcodes_printrun_batch", args=[batch.pk]) in text(redirected)


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("printer", 200), ("support", 403)])
def test_batch_selection_for_printing_needs_the_permission(brand, role, status):
    assert browser(staff(brand, role=role)).get(CHOOSE_BATCH_URL).status_code == status


def test_home_query_count_does_not_grow_with_batches(brand):
    def count_queries():
        client = browser(staff(brand, role="printer"))
        with CaptureQueriesContext(connection) as queries:
            client.get(HOME_URL)
        return len(queries)

    factories.batch(brand, quantity=1)
    baseline = count_queries()
    for _ in range(4):
        factories.batch(brand, quantity=1)

    assert count_queries() == baseline


@cache
def explanation(label):
    return render_to_string("admin/empty_state.html", {"label": label}).strip()


@pytest.mark.parametrize("label", LABELS)
def test_every_empty_list_has_its_own_explanation(label):
    with_the_same = {each for each in [*LABELS, "no.such"] if explanation(each) == explanation(label)}

    assert with_the_same == (PROGRESS if label in PROGRESS else {label})
    assert len(explanation(label)) >= 40


def test_every_explanation_belongs_to_a_list():
    source = get_template("admin/empty_state.html").template.source

    assert sorted(re.findall(r'label == "([^"]+)"', source)) == LABELS


def test_empty_lists_show_their_explanations(brand):
    client = browser(staff(brand))
    answers = {label: client.get(address(label)) for label in LABELS}

    empty = {label for label, answer in answers.items() if not answer.context["cl"].result_count}
    assert set(LABELS) - empty == {"brands.brand", "brands.staffrole", "brands.user", "loyalty.brandlevel"}
    assert [label for label in LABELS if (explanation(label) in text(answers[label])) != (label in empty)] == []


def test_support_sees_only_lists_for_its_work(brand):
    client = browser(staff(brand, role="support"))
    with without_rendering():
        statuses = {label: client.get(address(label)).status_code for label in LABELS}

    assert {label for label, status in statuses.items() if status == 200} == SUPPORT_LISTS
    assert {status for label, status in statuses.items() if label not in SUPPORT_LISTS} == {403}


@pytest.mark.parametrize(
    ("time_zone_name", "preset"),
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
def test_preset_of_the_first_sheet_follows_the_brands_time_zone(time_zone_name, preset):
    assert preset_for(time_zone_name) == preset
    assert PRESETS[preset].sheet.per_page == 30


def test_first_print_starts_with_the_paper_size_of_the_brands_time_zone(db):
    brand = factories.brand(time_zone="Europe/Berlin")
    batch = factories.batch(brand, quantity=2)

    answer = browser(staff(brand)).get(reverse("admin:authcodes_printrun_batch", args=[batch.pk]))

    assert answer.context["form"]["sheet"].value() == "a4-30"


def test_batch_selection_names_what_was_printed_before_and_offers_no_empty_batch(brand):
    failed, printed = (factories.batch(brand, range_name=name, quantity=2) for name in ("Failed", "Printed"))
    for batch, status in ((failed, "failed"), (printed, "queued")):
        Job.objects.filter(pk=print_run_of(batch).job_id).update(status=status)
    elsewhere, undone = (
        printed_batches.create(
            brand=brand,
            batch_settings=BatchSettings(name, 2, signed=False),
            first_code="K1",
            last_code="M1",
            at=timezone.now(),
            by=None,
        )
        for name in ("Elsewhere", "Undone")
    )
    printed_batches.empty(batch=undone, import_id=1)

    offered = browser(staff(brand, role="printer")).get(CHOOSE_BATCH_URL).context["printable"]

    assert {item.batch: item.is_printed for item in offered} == {failed: False, printed: True, elsewhere: True}
