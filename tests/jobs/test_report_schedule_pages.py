"""The pages of scheduled reports: who makes one of which list, who receives it, and who sees it."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.models.people import User
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
    plain = {"frequency": "weekly", "weekday": 4, "day": 1, "hour": 7, "file_format": "xlsx"}
    return {**plain, "recipients": [each.pk for each in recipients], **fields}


def add(person, saved, **sent):
    return browser(person).post(f"{address(LABEL, 'add')}?saved_list={saved.pk}", {**form(person), **sent})


def test_a_schedule_is_made_from_a_saved_list(brand, owner):
    colleague = staff(brand, role="manager", email="colleague@example.com")
    Brand.objects.filter(pk=brand.pk).update(time_zone="Europe/Berlin")

    answer = add(owner, saved_list(owner, brand), **form(owner, colleague))

    made = ReportSchedule.objects.get()
    assert answer.status_code == 302
    assert (made.brand, made.owner, made.frequency, made.file_format) == (brand, owner, "weekly", "xlsx")
    assert f"{made.next_at.astimezone(ZoneInfo('Europe/Berlin')):%A %H:%M}" == "Friday 07:00"
    assert {each.user for each in made.recipients.all()} == {owner, colleague}
    entry = AuditLogEntry.objects.get(kind=LABEL)
    assert entry.action == "Added"
    assert "colleague@example.com" in entry.changes["recipients"][1]
    assert "Friday, 07:00" in text(browser(owner).get(address(LABEL)))


@pytest.mark.parametrize(
    ("sent", "where"),
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
def test_what_a_schedule_cannot_be_is_refused(brand, owner, sent, where):
    answer = add(owner, saved_list(owner, brand), **sent)

    assert where in errors(answer)
    assert not ReportSchedule.objects.exists()


def test_nobody_makes_schedules_without_end(brand, owner, monkeypatch):
    monkeypatch.setattr(report_schedules, "MAX_SCHEDULES", 0)

    assert add(owner, saved_list(owner, brand)).status_code == 200


def test_only_staff_of_the_brand_who_may_export_the_list_can_be_recipients(brand, owner):
    saved = saved_list(owner, brand, model_label="authcodes.scan", query={})
    stranger = staff(factories.brand(name="Other", slug="other"))
    others = [staff(brand, role="printer"), staff(brand, role="support"), stranger, factories.customer(brand)]

    assert all("recipients" in errors(add(owner, saved, **form(each))) for each in others)
    assert not ReportSchedule.objects.exists()


def test_printers_who_do_not_see_colleagues_choose_themselves(brand, owner):
    printer = staff(brand, role="printer")
    saved = saved_list(printer, brand)

    assert "owner@example.com" not in text(browser(printer).get(f"{address(LABEL, 'add')}?saved_list={saved.pk}"))
    assert add(printer, saved).status_code == 302


@pytest.mark.parametrize("number", ["", "0", "x", "٣", "9" * 30])
def test_a_saved_list_that_is_not_there_cannot_be_scheduled(brand, owner, number):
    saved_list(owner, brand)
    page = f"{address(LABEL, 'add')}?saved_list={number}"

    assert "choose Send on a schedule" in text(browser(owner).get(page))
    assert browser(owner).post(page, form(owner)).status_code == 200
    assert not ReportSchedule.objects.exists()


def test_what_cannot_be_exported_by_somebody_cannot_be_scheduled_by_them(brand, owner):
    support = staff(brand, role="support")
    no_export = saved_list(owner, brand, name="Campaigns", model_label="campaigns.campaign", query={})
    own = saved_list(support, brand)

    assert [add(owner, no_export).status_code, add(support, own).status_code] == [200, 403]
    assert not ReportSchedule.objects.exists()


def test_a_brand_neither_sees_nor_schedules_anything_of_another(brand, owner):
    saved = saved_list(owner, brand, is_shared=True)
    made = schedule(owner, brand, saved=saved)
    stranger = staff(factories.brand(name="Other", slug="other"))
    window = browser(stranger)

    for what in ("change", "delete", "history"):
        assert window.get(address(LABEL, what, made.pk)).status_code == 404
    assert "Live codes" not in text(window.get(address(LABEL)))
    assert add(stranger, saved).status_code == 200
    assert ReportSchedule.objects.count() == 1


def test_row_level_security_hides_schedules_and_recipients_of_other_brands(brand, owner):
    made = schedule(owner, brand)
    other = factories.brand(name="Other", slug="other")

    def counts(brand_id):
        with row_guard.within([brand_id]):
            return [rows.objects.count() for rows in (SavedList, ReportSchedule, ReportRecipient)]

    assert (counts(brand.pk), counts(other.pk)) == ([1, 1, 1], [0, 0, 0])
    assert made.pk


def test_colleagues_do_not_see_a_schedule_but_the_brands_owners_do_and_delete_it(brand, owner):
    manager = staff(brand, role="manager")
    made = schedule(manager, brand)
    page = address(LABEL, "change", made.pk)

    assert browser(staff(brand, role="manager")).get(page).status_code == 404
    assert manager.email in text(browser(owner).get(page))
    assert browser(owner).post(page, form(owner)).status_code == 403
    assert browser(owner).post(address(LABEL, "delete", made.pk), {"post": "yes"}).status_code == 302
    assert not ReportSchedule.objects.exists()


def test_resuming_plans_from_now_on_and_forgets_the_failures(brand, owner):
    made = schedule(owner, brand, is_paused=True, failures=3, last_error="x")

    answer = browser(owner).post(address(LABEL, "change", made.pk), form(owner, frequency="daily"))

    made.refresh_from_db()
    assert answer.status_code == 302
    assert (made.is_paused, made.failures, made.last_error) == (False, 0, "")
    assert timezone.now() < made.next_at <= timezone.now() + timedelta(days=1)


def test_a_persons_schedules_go_with_their_data(brand, owner):
    former = staff(brand)
    schedule(former, brand)
    kept = schedule(owner, brand, owner, former)

    assert len(REPORT_SCHEDULES.export(former.pk, brand.pk)) == 1
    REPORT_SCHEDULES.erase(former.pk, brand.pk, to=former.pk, at=timezone.now())

    assert list(ReportSchedule.objects.all()) == [kept]
    assert [each.user for each in ReportRecipient.objects.all()] == [owner]
    assert User.objects.filter(pk=former.pk).exists()
