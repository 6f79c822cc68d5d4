"""A person is erased at a brand: nothing says who they were, and everything that counts stays."""

import io
import json
import time
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.apps import apps
from django.core import mail
from django.core.files.base import ContentFile
from django.db import IntegrityError, connection, transaction
from django.http import QueryDict
from django.utils import timezone

from authcodes.codes import history
from authcodes.models.code_history import CodeChange
from authcodes.scanning import consistency
from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.models.audit import AuditLogEntry
from brands.models.credentials import LoginSession
from brands.models.idempotent_requests import IdempotentRequest
from brands.models.people import StaffRole, User
from events import erasure as event_erasure
from events import leases, messages, publishing, worker
from events.models import Event
from jobs import files, runner
from jobs.models import Job, StagedUpload
from loyalty.members import erasure
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.notifications import Device, Notification, NotificationDelivery, NotificationSettings
from loyalty.models.wallets import Platform, WalletDevice, WalletPass
from loyalty.notifications import preferences
from loyalty.points import adjustments
from loyalty.wallets import passes
from portal.base.job_panel import is_on_offer
from portal.import_export import large_files, tables
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.portal import address, browser, staff, text

EMAIL, FIRST, LAST, PHONE = "wilhelmina.quist@example.com", "Wilhelmina", "Quistgaard", "+41791234567"
TRACES = (EMAIL, FIRST, LAST, PHONE)
PASSWORD = factories.PASSWORD


@pytest.fixture
def person(brand):
    return factories.customer(brand, email=EMAIL, password=PASSWORD, first_name=FIRST, last_name=LAST)


def lives(api, person, brand, deliver):
    """Does what leaves traces: scans, points, wishes, a device, passes, events, a change by staff."""
    mine = api.as_customer(person)
    factories.points(person, brand, 100)
    factories.redemption(person, factories.reward(brand))
    factories.milestone(factories.campaign(brand), 1)
    mine.verify(factories.code(brand), latitude=46.9, longitude=7.4)
    deliver()
    preferences.change(person.pk, brand.pk, at=timezone.now(), phone=PHONE)
    Device.objects.create(user=person, brand=brand, token=uuid4().hex, platform="android")
    account = factories.account(person, brand)
    for platform in Platform:
        held, _new = passes.issue(account=account, platform=platform, at=timezone.now())
        WalletDevice.objects.create(wallet_pass=held, device="phone", push_token="abcdef0123456789")
    Event.objects.create(
        source="shop.customer-app",
        detail_type="newsletter-wanted",
        brand=brand,
        status="ignored",
        detail={"arguments": {"brand_id": brand.pk, "user_id": person.pk}, "payload": {"name": FIRST, "mail": EMAIL}},
    )
    told = audit_log.changes(person, User(pk=person.pk, email=EMAIL, first_name="Mina", last_name=LAST))
    audit_log.record(
        audit_context=by_system(),
        action="Changed",
        rows=[AuditedChange(person, brand.pk, told), AuditedChange(account, brand.pk)],
    )
    return mine


def by_system(reason=""):
    return AuditContext(None, timezone.now(), reason=reason)


def erase(person, brand):
    return erasure.erase(user_id=person.pk, brand_id=brand.pk, audit_context=by_system("Asked by letter"))


def leave(mine, password=PASSWORD):
    return mine.call("DELETE", "customer", data=json.dumps({"password": password}).encode())


def traces(*words):
    """Every column of every table of ours that holds one of the words, whatever its type."""
    found = []
    for model in apps.get_models(include_auto_created=True):
        table = model._meta.db_table
        with connection.cursor() as cursor:
            for word in words:
                cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text ILIKE %s', [f"%{word}%"])
                if cursor.fetchone()[0]:
                    found.append((table, word))
    return found


def test_no_table_holds_name_address_or_phone_any_more(api, person, brand, deliver):
    lives(api, person, brand, deliver)
    assert {word for _table, word in traces(*TRACES)} == set(TRACES)

    erase(person, brand)
    deliver_all()

    assert traces(*TRACES) == []
    assert not Device.objects.exists() and not WalletDevice.objects.exists()


def deliver_all():
    worker.drain()
    for lane in messages.slow_lanes():
        worker.drain_slow(lane=lane)


@pytest.mark.django_db(transaction=True)
def test_amounts_stay_and_the_ledger_is_clean(api, person, brand, deliver):
    lives(api, person, brand, deliver)
    numbers = ("points", "points_earned", "points_redeemed", "points_expired", "points_returned")
    before = UserPoints.objects.values(*numbers).get(brand=brand)
    lines = list(LoyaltyTransaction.objects.order_by("pk").values())

    erase(person, brand)
    deliver_all()

    assert UserPoints.objects.values(*numbers).get(brand=brand) == before
    assert list(LoyaltyTransaction.objects.order_by("pk").values()) == lines
    assert list(consistency.differences()) == []


def test_scans_keep_the_city_and_lose_the_coordinates(api, person, brand, deliver):
    lives(api, person, brand, deliver)
    person.scans.update(location="Bern, BE", device="Phone 5")

    erase(person, brand)

    assert list(person.scans.values("latitude", "longitude", "location", "device")) == [
        {"latitude": None, "longitude": None, "location": "Bern, BE", "device": ""}
    ]


MEMBERS_FILE = f"email,first_name,last_name,external_id\n{EMAIL},{FIRST},{LAST},CRM-1\nbob@example.com,Bob,,\n"


@pytest.mark.django_db(transaction=True)
def test_neither_previews_of_imports_nor_their_kept_answers_hold_a_name(api, person, brand, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    hub, path = api.hub(), "brand/imports/members"
    upload = {"data": MEMBERS_FILE.encode(), "content_type": "text/csv"}
    found = hub.call("POST", path, **upload).json()["data"]
    confirmed = hub.post(f"{path}/{found['id']}/confirm", {"digest": found["digest"]}, idempotency_key="once")
    assert confirmed.status_code == 200, confirmed.content
    kept = hub.post("brand/products", {"sku": "MUG", "title": "Mug"}, idempotency_key="another")
    assert kept.status_code == 201, kept.content
    assert "brands_idempotentrequest" in {table for table, _word in traces(EMAIL)}

    erase(person, brand)
    deliver_all()

    assert traces(*TRACES) == []
    assert IdempotentRequest.objects.get().key == "another"


@pytest.mark.django_db(transaction=True)
def test_a_check_that_runs_during_an_erasure_keeps_no_preview(api, person, brand, settings, tmp_path, monkeypatch):
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(tables, "MAX_ROWS", 1)
    upload = {"data": MEMBERS_FILE.encode(), "content_type": "text/csv"}
    answer = api.hub().call("POST", "brand/imports/members", **upload)
    check = large_files.imports.plans

    def erased_meanwhile(*arguments):
        yield from check(*arguments)
        erase(person, brand)

    monkeypatch.setattr(large_files.imports, "plans", erased_meanwhile)

    runner.run(answer.json()["data"]["job_id"])
    deliver_all()

    assert StagedUpload.objects.get().status == "rejected"
    assert traces(*TRACES) == []


@pytest.mark.django_db(transaction=True)
def test_customer_elsewhere_stays_there_and_a_pseudonym_stands_here(api, person, brand, deliver):
    other = factories.brand(name="Elsewhere")
    factories.accounts.enrol(user_id=person.pk, brand_id=other.pk, at=timezone.now())
    factories.points(person, other, 70)
    lives(api, person, brand, deliver)

    result = erase(person, brand)
    deliver_all()

    person.refresh_from_db()
    assert result.stays_elsewhere and result.pseudonym_id != person.pk
    assert (person.email, person.is_active, person.registered_brand) == (EMAIL, True, other)
    assert UserPoints.objects.get(brand=other).user == person
    assert UserPoints.objects.get(brand=brand).user_id == result.pseudonym_id
    assert {table for table, _word in traces(EMAIL, FIRST, LAST, PHONE)} == {"brands_user", "brands_customerword"}
    assert not person.search_words.filter(brand=brand).exists()
    assert not person.scans.filter(brand=brand).exists()
    assert list(consistency.differences()) == []


@pytest.mark.parametrize("signed", [False, True], ids=["their code", "a code that lost its tag"])
def test_scanning_another_brands_code_hands_nobody_over_to_that_brand(api, person, brand, signed):
    other = factories.brand(name="Elsewhere")
    mine = api.as_customer(person)
    mine.verify(factories.code(other, signed=signed).code, latitude=46.9, longitude=7.4)
    person.scans.update(device="Phone 5")

    result = erase(person, brand)

    person.refresh_from_db()
    assert not result.stays_elsewhere and not person.is_active
    assert person.registered_brand == brand and traces(EMAIL, FIRST, LAST) == []
    assert list(person.scans.values("brand", "latitude", "longitude", "device")) == [
        {"brand": other.pk, "latitude": None, "longitude": None, "device": ""}
    ]


def test_who_used_another_brands_app_without_enrolling_stays_there(api, person, brand):
    other = factories.brand(name="Elsewhere", auto_enroll=False)
    api.as_customer(person, of=other).verify(factories.code(other))

    assert erase(person, brand).stays_elsewhere


def test_nothing_leads_from_the_pseudonym_back_to_a_customer_elsewhere(api, person, brand, deliver):
    factories.accounts.enrol(user_id=person.pk, brand_id=factories.brand().pk, at=timezone.now())
    lives(api, person, brand, deliver)

    erase(person, brand)
    deliver_all()

    here = Event.objects.filter(brand=brand).values_list("detail", flat=True)
    assert [detail for detail in here if f'"user_id": {person.pk}' in json.dumps(detail)] == []
    assert [detail for detail in here if f'"of": {person.pk}' in json.dumps(detail)] == []


@pytest.mark.django_db(transaction=True)
def test_what_somebody_does_here_after_their_erasure_is_a_new_customers(api, person, brand, deliver):
    factories.accounts.enrol(user_id=person.pk, brand_id=factories.brand().pk, at=timezone.now())
    lives(api, person, brand, deliver)
    erase(person, brand)
    mine = api.as_customer(person)  # a new login: the erasure ended those from before
    mine.verify(factories.code(brand))
    deliver()
    mine.verify(factories.code(brand))
    new = Event.objects.filter(detail_type="scan-auth").order_by("-id")[:2]
    before = list(new.values("status", "detail", "outcome"))

    worker.drain_slow(lane=messages.lane_of("erase-events"))

    assert [event["status"] for event in before] == ["pending", "done"]
    assert list(new.values("status", "detail", "outcome")) == before
    deliver()
    assert factories.account(person, brand).points == 20
    assert list(consistency.differences()) == []


class Killed(BaseException):
    """What a worker that is killed does: nothing more."""


@pytest.mark.django_db(transaction=True)
def test_worker_that_erases_events_keeps_them_to_itself_and_is_followed_where_it_stopped(
    api, person, brand, deliver, monkeypatch, settings
):
    lives(api, person, brand, deliver)
    erase(person, brand)
    event = Event.objects.get(detail_type="erase-events")
    monkeypatch.setattr(event_erasure, "PORTION", event.pk // 4)
    settings.OUTGOING_LEASE_SECONDS = 0.01
    run, seen = event_erasure.ERASE_PORTION.run, []

    def be_killed_in_the_third(**parameters):
        seen.append(parameters["after"])
        time.sleep(0.02)  # the lease ends
        assert at_once(lambda _number: leases.claim(limit=9, lane=event.lane), [0]) == [[]]
        if len(seen) == 3:
            raise Killed
        return run(**parameters)

    monkeypatch.setattr(event_erasure.ERASE_PORTION, "run", be_killed_in_the_third)
    with suppress(Killed):
        worker.drain(lane=event.lane)
    settings.OUTGOING_LEASE_SECONDS = 60
    deliver_all()

    event.refresh_from_db()
    assert seen[:4] == [0, event.pk // 4, event.pk // 4 * 2, event.pk // 4 * 2]
    assert seen[4:] == sorted(set(seen[4:])) and seen[4] > seen[3]
    assert (event.status, event.detail["payload"]) == ("done", {})
    assert event.outcome["events"] > 0 and traces(*TRACES) == []


def test_others_keep_what_is_theirs(api, brand, person, deliver):
    neighbour = factories.customer(brand, email="other@example.com", first_name="Other")
    lives(api, person, brand, deliver)
    factories.points(neighbour, brand, 5)
    erase(person, brand)
    deliver_all()

    neighbour.refresh_from_db()
    assert (neighbour.email, neighbour.first_name, neighbour.is_active) == ("other@example.com", "Other", True)
    assert factories.account(neighbour, brand).points == 5


def test_old_tokens_are_refused_at_once(api, person, brand):
    tokens = api.post("auth/token", {"email": EMAIL, "password": PASSWORD, "brand_id": brand.pk}).json()
    mine = api.as_customer(person)

    answer = leave(mine)

    assert answer.status_code == 204
    assert mine.get("customer/loyalty/points").json()["error"] == "TOKEN_INVALID"
    assert mine.verify(factories.code(brand)).status_code == 401
    assert api.post("auth/token/refresh", {"refresh": tokens["refresh"]}).json()["error"] == "TOKEN_INVALID"
    assert not LoginSession.objects.exists()


def test_wrong_password_erases_nothing(api, person, brand):
    answer = leave(api.as_customer(person), "another long one")

    assert (answer.status_code, answer.json()["error"]) == (403, "PASSWORD_WRONG")
    assert User.objects.filter(email=EMAIL, is_active=True).exists()


def test_staff_are_not_erased(api, person, brand):
    StaffRole.objects.create(user=person, brand=factories.brand(), role=StaffRole.Role.SUPPORT)

    answer = leave(api.as_customer(person))

    assert (answer.status_code, answer.json()["error"]) == (409, "STAFF_NOT_ERASED")
    assert User.objects.filter(email=EMAIL).exists()


def test_what_waits_for_a_worker_is_dropped(api, person, brand):
    api.as_customer(person).verify(factories.code(brand))
    assert Event.objects.pending().filter(detail_type="scan-auth").exists()

    erase(person, brand)
    deliver_all()

    assert not LoyaltyTransaction.objects.exists()
    assert Event.objects.get(detail_type="scan-auth").outcome["error"] == "PERSON_ERASED"


def test_same_address_registers_anew(api, person, brand, deliver, settings):
    settings.REGISTRATION_CONFIRMS_EMAIL = False
    lives(api, person, brand, deliver)
    erase(person, brand)

    answer = api.post("auth/register", {"email": EMAIL, "password": PASSWORD, "brand_id": brand.pk})

    assert answer.status_code == 201
    assert answer.json()["user_id"] != person.pk
    assert UserPoints.objects.get(user_id=answer.json()["user_id"]).points == 0


def test_trail_tells_that_somebody_was_erased_and_not_who(api, person, brand):
    erase(person, brand)

    entry = AuditLogEntry.objects.get(action="Personal data erased")
    assert (entry.reason, entry.brand) == ("Asked by letter", brand)
    assert entry.row_id == str(UserPoints.objects.get(brand=brand).pk)
    assert EMAIL not in entry.row_name


def test_passes_token_opens_nothing_any_more(api, person, brand, deliver):
    lives(api, person, brand, deliver)
    tokens = dict(WalletPass.objects.values_list("platform", "token"))

    erase(person, brand)

    assert set(WalletPass.objects.values_list("state", flat=True)) == {"removed"}
    assert all(held.token != tokens[held.platform] for held in WalletPass.objects.all())
    assert Event.objects.filter(detail_type="expire-pass").count() == 1


class TestPage:
    def send(self, client, account, reason="Asked by letter"):
        return client.post(address("loyalty.userpoints", "erase", account.pk), {"reason": reason})

    def test_owner_reads_what_goes_and_erases(self, brand, person):
        account, owner = factories.account(person, brand), staff(brand)
        client = browser(owner)
        page = address("loyalty.userpoints", "erase", account.pk)

        assert page in text(client.get(address("loyalty.userpoints", "change", account.pk)))
        assert EMAIL in text(client.get(page))
        assert self.send(client, account).status_code == 302

        assert traces(*TRACES) == []
        assert AuditLogEntry.objects.get(action="Personal data erased").user == owner
        assert self.send(client, account).status_code == 403

    @pytest.mark.parametrize("role", ["manager", "printer", "support"])
    def test_nobody_but_owners_may(self, brand, person, role):
        client = browser(staff(brand, role=role))

        assert self.send(client, factories.account(person, brand)).status_code in {403, 404}
        assert User.objects.filter(email=EMAIL).exists()

    def test_another_brands_member_does_not_exist(self, brand):
        elsewhere = factories.brand()
        theirs = factories.account(factories.customer(elsewhere), elsewhere)

        assert self.send(browser(staff(brand)), theirs).status_code == 404

    def test_reason_is_needed_and_staff_stay(self, brand, person):
        account, client = factories.account(person, brand), browser(staff(brand))

        assert "required" in text(self.send(client, account, reason=""))
        StaffRole.objects.create(user=person, brand=brand, role=StaffRole.Role.SUPPORT)
        assert "has staff roles" in text(self.send(client, account))
        assert User.objects.filter(email=EMAIL).exists()


@pytest.mark.parametrize("elsewhere", [False, True])
def test_waiting_notification_tells_nobody(brand, person, elsewhere):
    if elsewhere:
        factories.accounts.enrol(user_id=person.pk, brand_id=factories.brand().pk, at=timezone.now())
    NotificationSettings.objects.create(brand=brand)
    told = {"template": "points-expiring", "points": 5, "expires_on": "2030-01-01"}
    message = messages.NewEvent(
        kind="notify", arguments={"brand_id": brand.pk, "user_id": person.pk}, payload={**told, "name": FIRST}
    )
    publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())

    erase(person, brand)
    deliver_all()

    assert Event.objects.get(detail_type="notify").outcome["error"] == "PERSON_ERASED"
    assert not Notification.objects.exists() and not NotificationDelivery.objects.exists()
    assert mail.outbox == []


@pytest.mark.parametrize("column", ["action", "row_id", "request_id"])
def test_trail_changes_nothing_but_names_even_while_it_erases(person, brand, column):
    audit_log.record(audit_context=by_system(), action="Changed", rows=[AuditedChange(person, brand.pk)])

    with pytest.raises(IntegrityError), transaction.atomic(), connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('audit.erasing', 'on', true)")
        cursor.execute(f"UPDATE brands_auditlogentry SET {column} = 'other'")
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE brands_auditlogentry SET row_name = 'other'")


def wrote(brand, person, words):
    """What staff write of a customer, where they write freely."""
    colleague = staff(brand)
    batch = factories.batch(brand)
    account = factories.account(person, brand)
    deed = AuditContext(colleague, timezone.now(), reason=words)
    adjustments.adjust(account=account, points=Decimal(5), key=uuid4(), audit_context=deed)
    audit_log.record(audit_context=deed, action="Points added", rows=[AuditedChange(account, brand.pk)])
    audit_log.record(audit_context=deed, action="Changed", rows=[AuditedChange(batch, brand.pk)])
    note = history.CodeChangeContext(CodeChange.Kind.DEACTIVATED, timezone.now(), colleague, reason=words)
    history.note_batch(note, batch=batch)


def test_what_staff_wrote_names_nobody_any_more(brand, person):
    preferences.change(person.pk, brand.pk, at=timezone.now(), phone=PHONE)
    wrote(brand, person, f"{FIRST} {LAST} <{EMAIL.upper()}> called from +41 79 123 45 67; Quistgaard, Wilhelmina it is")
    factories.points(person, brand, 1)

    erase(person, brand)

    assert traces(*TRACES, "123 45 67") == []
    notes = LoyaltyTransaction.objects.filter(note__contains="called from")
    assert [note.points_earned for note in notes] == [5]
    assert "it is" in notes.get().note


def test_a_word_that_is_a_name_too_stays_where_others_are_meant(brand):
    rose = factories.customer(brand, email="rose@example.com", first_name="Rose", last_name="Good")
    batch = factories.batch(brand)
    kept = "Good batch of rose soap"
    history.note_batch(history.CodeChangeContext(CodeChange.Kind.DEACTIVATED, timezone.now(), reason=kept), batch=batch)
    factories.points(rose, brand, 1)

    erase(rose, brand)

    assert CodeChange.objects.filter(reason=kept).exists()


def test_the_ledger_and_the_history_refuse_everything_else_while_a_person_is_erased(brand, person):
    factories.points(person, brand, 5)
    factories.batch(brand)
    statements = [
        "UPDATE loyalty_transaction SET points_earned = 6",
        "DELETE FROM loyalty_transaction",
        "UPDATE authcodes_codechange SET codes = 9",
        "DELETE FROM authcodes_codechange",
    ]
    erasing = "SELECT set_config('ledger.erasing', 'on', true), set_config('codes.erasing', 'on', true)"
    for statement in statements:
        refused = pytest.raises(IntegrityError, match="append-only")
        with refused, transaction.atomic(), connection.as_owner(), connection.cursor() as cursor:
            cursor.execute(erasing)
            cursor.execute(statement)


def exported(brand, kind, **fields):
    return Job.objects.create(brand=brand, kind=kind, title=f"Scans of {EMAIL}", parameters={"q": EMAIL}, **fields)


def test_files_that_may_name_the_person_are_off_offer_at_once_and_deleted(brand, person, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    week = timezone.now() + timedelta(days=7)
    done = {"status": "done", "expires_at": week}
    named = exported(brand, "export-scans", **done)
    named.result.save("scans.csv", ContentFile(EMAIL.encode()))
    codes = Job.objects.create(brand=brand, kind="export-unscanned", title="Codes", **done)
    codes.result.save("codes.csv", ContentFile(b"code"))
    foreign = Job.objects.create(brand=factories.brand(), kind="export-scans", title="Theirs", **done)
    foreign.result.save("theirs.csv", ContentFile(b"theirs"))

    erase(person, brand)

    named.refresh_from_db()
    assert not is_on_offer(named)
    files.purge_files()
    assert [path.read_bytes() for path in sorted(tmp_path.rglob("*.csv"))] == [b"code", b"theirs"]
    assert EMAIL not in f"{named.title} {named.parameters}"


@pytest.mark.parametrize("words", [EMAIL, f"{FIRST} {LAST}", f"{LAST}, {FIRST}", LAST, "+41 79 123 45 67"])
def test_an_export_forgets_the_person_whom_its_list_was_searched_for(brand, person, words):
    factories.points(person, brand, 1)
    preferences.change(person.pk, brand.pk, at=timezone.now(), phone=PHONE)
    query = QueryDict(mutable=True)
    query.update({"q": words, "status": "active"})
    parameters = {"query": query.urlencode(), "format": "csv", "time_zone": "UTC"}
    job = Job.objects.create(brand=brand, kind="export-members", title="Members", parameters=parameters, status="done")

    erase(person, brand)

    job.refresh_from_db()
    kept = QueryDict(job.parameters["query"])
    assert (words in kept["q"], kept["status"]) == (False, "active")


def test_an_export_that_runs_meanwhile_offers_no_file(brand, person, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    running = exported(brand, "export-scans", status="running", attempts=1, alive_at=timezone.now())
    run = runner.Run(running)

    erase(person, brand)

    with pytest.raises(runner.JobCancelledError):
        run.save_file(io.BytesIO(EMAIL.encode()), name="scans.csv")
    assert not list(tmp_path.rglob("*.csv"))
