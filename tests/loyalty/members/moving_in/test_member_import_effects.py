"""Effects of importing members: balances that wait for confirmed addresses, webhooks, passes and races."""

from decimal import Decimal

import pytest
from django.db import OperationalError, transaction
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.audit import AuditLogEntry
from brands.models.people import User
from core.errors import Invalid
from events.models import Event
from loyalty.members import confirmations, sessions
from loyalty.members.moving_in import member_imports, opening_balances
from loyalty.models.accounts import OpeningBalance, UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.webhooks import WebhookEndpoint
from loyalty.points import accounts, adjustments
from loyalty.wallets import passes
from tests.support import factories
from tests.support.concurrency import run_concurrently, run_during_transaction
from tests.support.fakes import wallets
from tests.support.imports import confirm, counts, import_file, preview, problem, ticket_of
from tests.support.portal import staff

LABEL = "loyalty.userpoints"
HEADER = "email,first_name,last_name,external_id,phone,language,wants_notifications,opening_balance\n"
ADA = "ada@example.com,Ada,Lovelace,CRM-1,+4930123456,de,yes,120\n"
BOB = "bob@example.com,Bob,,,,,no,0\n"


def balances(brand):
    return dict(UserPoints.objects.filter(brand=brand).values_list("user__email", "points"))


# --- Confirmed addresses


@pytest.fixture
def confirming_brand(brand):
    brand.requires_confirmed_email = True
    brand.save()
    return brand


def test_opening_balance_waits_for_a_confirmed_address(confirming_brand, owner, deliver_events):
    import_file(owner, LABEL, confirming_brand, HEADER + ADA)
    user = User.objects.get(email="ada@example.com")
    assert balances(confirming_brand) == {"ada@example.com": 0}
    assert OpeningBalance.objects.get().points == 120
    assert counts(preview(owner, LABEL, confirming_brand, HEADER + ADA)) == {"Unchanged": 1}

    confirmations.verify_address(user=user, at=timezone.now())
    deliver_events()

    assert balances(confirming_brand) == {"ada@example.com": 120}
    assert not OpeningBalance.objects.exists()
    assert factories.account(user, confirming_brand).current_level == "Silver"
    confirmations.release_points(user_id=user.pk)
    deliver_events()
    assert counts(preview(owner, LABEL, confirming_brand, HEADER + ADA)) == {"Unchanged": 1}
    assert balances(confirming_brand) == {"ada@example.com": 120}


def test_balance_of_address_confirmed_at_another_brand_waits_for_a_login(confirming_brand, owner, deliver_events):
    elsewhere = factories.brand()
    customer = factories.customer(
        elsewhere, email="ada@example.com", password=factories.PASSWORD, email_verified_at=timezone.now()
    )
    import_file(owner, LABEL, confirming_brand, HEADER + ADA)
    assert balances(confirming_brand) == {"ada@example.com": 0}

    sessions.log_in(user=customer, brand=confirming_brand, channel="app", at=timezone.now())
    deliver_events()

    assert balances(confirming_brand)["ada@example.com"] == 120


def test_second_import_does_not_reveal_a_confirmation_at_another_brand(confirming_brand, owner):
    factories.customer(factories.brand(), email="ada@example.com", email_verified_at=timezone.now())
    import_file(owner, LABEL, confirming_brand, HEADER + ADA)

    second = HEADER.replace("opening_balance", "opening_balance,opening_source") + ADA.replace("120", "30,kiosk")
    import_file(owner, LABEL, confirming_brand, second)

    assert balances(confirming_brand) == {"ada@example.com": 0}
    assert sorted(OpeningBalance.objects.values_list("points", flat=True)) == [30, 120]


def test_member_who_has_logged_in_to_the_brand_gets_the_balance_immediately(confirming_brand, owner):
    customer = factories.customer(factories.brand(), email="ada@example.com", email_verified_at=timezone.now())
    accounts.enrol(user_id=customer.pk, brand_id=confirming_brand.pk, at=timezone.now())
    sessions.log_in(user=customer, brand=confirming_brand, channel="app", at=timezone.now())

    import_file(owner, LABEL, confirming_brand, HEADER + ADA)

    assert balances(confirming_brand) == {"ada@example.com": 120}


def test_member_with_a_confirmed_address_gets_the_balance_immediately(confirming_brand, owner):
    factories.customer(confirming_brand, email="ada@example.com", email_verified_at=timezone.now())

    import_file(owner, LABEL, confirming_brand, HEADER + ADA)

    assert balances(confirming_brand) == {"ada@example.com": 120}


def test_waiting_balance_is_released_when_confirmation_is_no_longer_required(confirming_brand, owner):
    import_file(owner, LABEL, confirming_brand, HEADER + ADA)
    assert opening_balances.release_where_not_needed(at=timezone.now()) == 0
    confirming_brand.requires_confirmed_email = False
    confirming_brand.save()

    assert opening_balances.release_where_not_needed(at=timezone.now()) == 1

    assert balances(confirming_brand) == {"ada@example.com": Decimal(120)}


@pytest.fixture
def brand_with_waiting_balances(db):
    """Creates a brand that no longer requires confirmed addresses, with the waiting balances of so many members."""

    def create(member_count):
        brand = factories.brand()
        factories.level(brand)
        customers = [factories.customer(brand) for _number in range(member_count)]
        waiting_balances = [(each.pk, Decimal(5)) for each in customers]
        opening_balances.hold(brand_id=brand.pk, balances=waiting_balances, reason_id="opening:old", at=timezone.now())
        return brand, customers

    return create


def points_of(customers):
    return [account.points for account in UserPoints.objects.filter(user__in=customers).order_by("user")]


def test_account_at_its_maximum_does_not_delay_other_balances(brand_with_waiting_balances, caplog):
    (_full_brand, (full_customer, other_customer)), (_brand, customers) = (
        brand_with_waiting_balances(2),
        brand_with_waiting_balances(1),
    )
    maximum = Decimal("999999999999.99")
    UserPoints.objects.filter(user=full_customer).update(points_earned=maximum, points_redeemed=maximum)

    assert opening_balances.release_where_not_needed(at=timezone.now()) == 2

    assert points_of([full_customer, other_customer, *customers]) == [0, 5, 5]
    assert list(OpeningBalance.objects.values_list("user", flat=True)) == [full_customer.pk]
    assert "could not be credited" in caplog.text


def test_brand_with_many_waiting_balances_does_not_delay_other_brands(brand_with_waiting_balances, monkeypatch):
    monkeypatch.setattr(opening_balances, "ACCOUNTS_AT_ONCE", 1)
    (busy_brand, busy_customers), (brand, customers) = brand_with_waiting_balances(3), brand_with_waiting_balances(1)
    credited, credit = [], opening_balances.credit

    def record_credit(*, brand_id, **arguments):
        credited.append(brand_id)
        return credit(brand_id=brand_id, **arguments)

    monkeypatch.setattr(opening_balances, "credit", record_credit)

    assert opening_balances.release_where_not_needed(at=timezone.now()) == 4
    assert set(credited[:2]) == {busy_brand.pk, brand.pk}
    assert points_of([*busy_customers, *customers]) == [5] * 4


# --- Other effects


def test_import_is_published_to_subscribed_webhooks(brand, owner):
    """Counterpart: test_import_without_webhooks_publishes_no_event."""
    WebhookEndpoint.objects.create(
        brand=brand, url="https://crm.example.net/", types=["member.enrolled", "points.earned", "level.reached"]
    )

    import_file(owner, LABEL, brand, HEADER + ADA + BOB)

    event_types = [
        event.detail["payload"]["type"] for event in Event.objects.filter(brand=brand, detail_type="announce")
    ]
    assert sorted(event_types) == ["level.reached", "member.enrolled", "member.enrolled", "points.earned"]
    assert not Event.objects.filter(brand=brand, detail_type="notify").exists()


def test_import_updates_an_existing_pass(brand, owner):
    customer = factories.customer(brand, email="ada@example.com")
    wallets.apple(brand)
    passes.issue(account=factories.account(customer, brand), platform="apple", at=timezone.now())

    import_file(owner, LABEL, brand, HEADER + ADA + BOB)

    [event] = Event.objects.filter(brand=brand, detail_type="balance-changed")
    assert event.detail["payload"]["points"] == 120


def test_members_of_several_portions_are_all_imported(brand, monkeypatch):
    monkeypatch.setattr(member_imports, "PORTION", 3)
    rows = [member_imports.MemberRow(f"m{number}@example.com", points=Decimal(number)) for number in range(10)]
    context = AuditContext(factories.user(is_superuser=True), timezone.now())

    member_imports.write(brand=brand, rows=rows, source="", audit_context=context)

    assert balances(brand) == {f"m{number}@example.com": number for number in range(10)}
    assert AuditLogEntry.objects.filter(kind=LABEL).count() == 10
    assert LoyaltyTransaction.objects.count() == 9


def test_import_that_fails_in_a_later_portion_writes_nothing(brand, owner, monkeypatch):
    monkeypatch.setattr(member_imports, "PORTION", 1)
    write_portion, portions = member_imports._write_portion, []

    def write_until_the_second_portion(brand, rows, *details):
        portions.append([row.address for row in rows])
        if len(portions) == 2:
            raise Invalid("This member was enrolled concurrently.")
        write_portion(brand, rows, *details)

    monkeypatch.setattr(member_imports, "_write_portion", write_until_the_second_portion)

    answer = import_file(owner, LABEL, brand, HEADER + ADA + BOB)

    assert portions == [["ada@example.com"], ["bob@example.com"]]
    assert (answer.status_code, problem(answer)) == (400, "This member was enrolled concurrently.")
    assert not UserPoints.objects.filter(brand=brand).exists()
    assert not User.objects.filter(email__in=["ada@example.com", "bob@example.com"]).exists()
    assert not LoyaltyTransaction.objects.exists()
    assert not AuditLogEntry.objects.filter(kind=LABEL).exists()


@pytest.mark.django_db(transaction=True)
def test_concurrent_imports_of_one_file_take_effect_once(transactional_db):
    brand = factories.brand()
    rows = [member_imports.MemberRow(f"m{number}@example.com", points=Decimal(5)) for number in range(50)]
    operator = factories.user(is_superuser=True)

    def import_rows(_turn):
        with transaction.atomic():
            context = AuditContext(operator, timezone.now())
            member_imports.write(brand=brand, rows=rows, source="", audit_context=context)

    outcomes = run_concurrently(import_rows, range(4))

    assert sorted(type(each).__name__ for each in outcomes) == ["Invalid", "Invalid", "Invalid", "NoneType"]
    assert set(balances(brand).values()) == {5}
    assert LoyaltyTransaction.objects.count() == len(rows)


def import_during_an_adjustment(brand, customer):
    """The answer to an import of points for a member, by staff who at the same time adjust the member's points."""
    member, owner = factories.account(customer, brand), staff(brand)
    ticket = ticket_of(preview(owner, LABEL, brand, f"email,opening_balance\n{customer.email},5\n"))
    return run_during_transaction(
        lambda: adjustments.lock_additions(brand_id=brand.pk, by=owner),
        lambda: confirm(owner, LABEL, ticket),
        lambda: adjustments.lock_open(account=member, points=Decimal(1)),
    )


@pytest.mark.django_db(transaction=True)
def test_import_and_adjustment_by_one_user_at_once_both_succeed(brand, customer):
    assert import_during_an_adjustment(brand, customer).status_code == 302
    assert balances(brand) == {customer.email: 5}


@pytest.mark.django_db(transaction=True)
def test_control_import_that_locks_accounts_first_deadlocks_with_an_adjustment(brand, customer, monkeypatch):
    operator, lock_known = factories.user(is_superuser=True), member_imports.lock_known

    def lock_accounts_first(*, brand, by, **named):
        result = lock_known(brand=brand, by=operator, **named)
        adjustments.lock_additions(brand_id=brand.pk, by=by)
        return result

    monkeypatch.setattr(member_imports, "lock_known", lock_accounts_first)

    try:
        outcome = import_during_an_adjustment(brand, customer)
    except OperationalError as error:
        outcome = error

    assert "deadlock" in str(outcome)
