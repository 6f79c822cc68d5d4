"""The portal's pages of scheduled reports: who may create, receive and see them."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.models.saved_lists import SavedList
from brands.models.tenants import Brand
from core.db import row_guard
from jobs.models import ReportRecipient, ReportSchedule
from jobs.personal_data import REPORT_SCHEDULES
from portal.pages import report_schedules
from tests.jobs.schedules import LABEL, saved_list, schedule
from tests.support import factories
from tests.support.portal import address, browser, errors, staff, text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def owner(brand):
    return staff(brand, email="owner@example.com")


def form(*recipients, **fields):
    defaults = {"frequency": "weekly", "weekday": 4, "day": 1, "hour": 7, "file_format": "xlsx"}
    return {**defaults, "recipients": [each.pk for each in recipients], **fields}


def add(user, saved, **sent):
    return browser(user).post(f"{address(LABEL, 'add')}?saved_list={saved.pk}", {**form(user), **sent})


def test_schedule_is_created_from_a_saved_list(brand, owner):
    colleague = staff(brand, role="manager", email="colleague@example.com")
    Brand.objects.filter(pk=brand.pk).update(time_zone="Europe/Berlin")

    answer = add(owner, saved_list(owner, brand), **form(owner, colleague))

    report_schedule = ReportSchedule.objects.get()
    assert answer.status_code == 302
    assert (report_schedule.brand, report_schedule.owner, report_schedule.frequency, report_schedule.file_format) == (
        brand,
        owner,
        "weekly",
        "xlsx",
    )
    assert f"{report_schedule.next_at.astimezone(ZoneInfo('Europe/Berlin')):%A %H:%M}" == "Friday 07:00"
    assert {each.user for each in report_schedule.recipients.all()} == {owner, colleague}
    entry = AuditLogEntry.objects.get(kind=LABEL)
    assert entry.action == "Added"
    assert "colleague@example.com" in entry.changes["recipients"][1]
    assert "Friday, 07:00" in text(browser(owner).get(address(LABEL)))


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"hour": 24}, "hour"),
        ({"hour": "٧"}, "hour"),
        ({"day": 29}, "day"),
        ({"day": 0}, "day"),
        ({"weekday": 7}, "weekday"),
        ({"weekday": "٣"}, "weekday"),
        ({"frequency": "hourly"}, "frequency"),
        ({"file_format": "docx"}, "file_format"),
        ({"file_format": "csv\0"}, "file_format"),
        ({"recipients": []}, "recipients"),
        ({"recipients": ["mail@example.com"]}, "recipients"),
        ({"recipients": ["9" * 30]}, "recipients"),
        ({"recipients": ["1\0"]}, "recipients"),
    ],
)
def test_invalid_schedule_fields_are_rejected(brand, owner, sent, field):
    answer = add(owner, saved_list(owner, brand), **sent)

    assert field in errors(answer)
    assert not ReportSchedule.objects.exists()


def test_number_of_schedules_is_limited(brand, owner, monkeypatch):
    monkeypatch.setattr(report_schedules, "MAX_SCHEDULES", 0)

    assert add(owner, saved_list(owner, brand)).status_code == 200


def test_recipients_must_be_staff_of_the_brand_who_may_export_the_list(brand, owner):
    saved = saved_list(owner, brand, model_label="authcodes.scan", query={})
    outsider = staff(factories.brand(name="Other", slug="other"))
    ineligible = [staff(brand, role="printer"), staff(brand, role="support"), outsider, factories.customer(brand)]

    assert all("recipients" in errors(add(owner, saved, **form(each))) for each in ineligible)
    assert not ReportSchedule.objects.exists()


def test_printer_sees_and_chooses_only_themselves_as_recipient(brand, owner):
    printer = staff(brand, role="printer")
    saved = saved_list(printer, brand)

    assert "owner@example.com" not in text(browser(printer).get(f"{address(LABEL, 'add')}?saved_list={saved.pk}"))
    assert add(printer, saved).status_code == 302


@pytest.mark.parametrize("number", ["", "0", "x", "٣", "9" * 30])
def test_missing_saved_list_cannot_be_scheduled(brand, owner, number):
    saved_list(owner, brand)
    page = f"{address(LABEL, 'add')}?saved_list={number}"

    assert "choose Send on a schedule" in text(browser(owner).get(page))
    assert browser(owner).post(page, form(owner)).status_code == 200
    assert not ReportSchedule.objects.exists()


def test_list_that_a_user_cannot_export_cannot_be_scheduled(brand, owner):
    support = staff(brand, role="support")
    no_export = saved_list(owner, brand, name="Campaigns", model_label="campaigns.campaign", query={})
    own = saved_list(support, brand)

    assert [add(owner, no_export).status_code, add(support, own).status_code] == [200, 403]
    assert not ReportSchedule.objects.exists()


def test_staff_neither_see_nor_schedule_reports_of_another_brand(brand, owner):
    saved = saved_list(owner, brand, is_shared=True)
    report_schedule = schedule(owner, brand, saved=saved)
    outsider = staff(factories.brand(name="Other", slug="other"))
    client = browser(outsider)

    for action in ("change", "delete", "history"):
        assert client.get(address(LABEL, action, report_schedule.pk)).status_code == 404
    assert "Live codes" not in text(client.get(address(LABEL)))
    assert add(outsider, saved).status_code == 200
    assert ReportSchedule.objects.count() == 1


def test_row_level_security_hides_schedules_and_recipients_of_other_brands(brand, owner):
    schedule(owner, brand)
    other = factories.brand(name="Other", slug="other")

    def counts(brand_id):
        with row_guard.within([brand_id]):
            return [rows.objects.count() for rows in (SavedList, ReportSchedule, ReportRecipient)]

    assert (counts(brand.pk), counts(other.pk)) == ([1, 1, 1], [0, 0, 0])


def test_schedule_is_hidden_from_colleagues_but_brand_owners_can_delete_it(brand, owner):
    manager = staff(brand, role="manager")
    report_schedule = schedule(manager, brand)
    page = address(LABEL, "change", report_schedule.pk)

    assert browser(staff(brand, role="manager")).get(page).status_code == 404
    assert manager.email in text(browser(owner).get(page))
    assert browser(owner).post(page, form(owner)).status_code == 403
    assert browser(owner).post(address(LABEL, "delete", report_schedule.pk), {"post": "yes"}).status_code == 302
    assert not ReportSchedule.objects.exists()


def test_resuming_plans_the_next_report_and_resets_failures(brand, owner):
    report_schedule = schedule(owner, brand, is_paused=True, failures=3, last_error="x")

    answer = browser(owner).post(address(LABEL, "change", report_schedule.pk), form(owner, frequency="daily"))

    report_schedule.refresh_from_db()
    assert answer.status_code == 302
    assert (report_schedule.is_paused, report_schedule.failures, report_schedule.last_error) == (False, 0, "")
    assert timezone.now() < report_schedule.next_at <= timezone.now() + timedelta(days=1)


def test_schedules_are_exported_and_erased_with_the_users_data(brand, owner):
    former = staff(brand)
    schedule(former, brand)
    remaining = schedule(owner, brand, owner, former)

    assert len(REPORT_SCHEDULES.export(former.pk, brand.pk)) == 1
    REPORT_SCHEDULES.erase(former.pk, brand.pk, to=former.pk, at=timezone.now())

    assert list(ReportSchedule.objects.all()) == [remaining]
    assert [each.user for each in ReportRecipient.objects.all()] == [owner]
