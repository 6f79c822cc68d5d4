"""What follows from an import of members: balances that wait for confirmed addresses, webhooks, passes, races."""

from decimal import Decimal

import pytest
from django.db import transaction
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.audit import AuditLogEntry
from brands.models.people import User
from events.models import Event
from loyalty.members import confirmations, sessions
from loyalty.members.moving_in import member_imports, opening_balances
from loyalty.models.accounts import OpeningBalance, UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.webhooks import WebhookEndpoint
from loyalty.wallets import passes
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.fakes import wallets
from tests.support.imports import counts, imported, preview

LABEL = "loyalty.userpoints"
HEADER = "email,first_name,last_name,external_id,phone,language,wants_notifications,opening_balance\n"
ADA = "ada@example.com,Ada,Lovelace,CRM-1,+4930123456,de,yes,120\n"
BOB = "bob@example.com,Bob,,,,,no,0\n"


def balances(brand):
    return dict(UserPoints.objects.filter(brand=brand).values_list("user__email", "points"))


# --- Confirmed addresses


@pytest.fixture
def careful(brand):
    brand.requires_confirmed_email = True
    brand.save()
    return brand


def test_a_balance_waits_for_the_confirmed_address(careful, owner, deliver):
    imported(owner, LABEL, careful, HEADER + ADA)
    user = User.objects.get(email="ada@example.com")
    assert balances(careful) == {"ada@example.com": 0}
    assert OpeningBalance.objects.get().points == 120
    assert counts(preview(owner, LABEL, careful, HEADER + ADA)) == {"Unchanged": 1}

    confirmations.verify_address(user=user, at=timezone.now())
    deliver()

    assert balances(careful) == {"ada@example.com": 120}
    assert not OpeningBalance.objects.exists()
    assert factories.account(user, careful).current_level == "Silver"
    confirmations.release_points(user_id=user.pk)
    deliver()
    assert counts(preview(owner, LABEL, careful, HEADER + ADA)) == {"Unchanged": 1}
    assert balances(careful) == {"ada@example.com": 120}


def test_that_an_address_was_confirmed_elsewhere_is_not_told(careful, owner, deliver):
    elsewhere = factories.brand()
    person = factories.customer(
        elsewhere, email="ada@example.com", password=factories.PASSWORD, email_verified_at=timezone.now()
    )
    imported(owner, LABEL, careful, HEADER + ADA)
    assert balances(careful) == {"ada@example.com": 0}

    sessions.log_in(user=person, brand=careful, channel="app", at=timezone.now())
    deliver()

    assert balances(careful)["ada@example.com"] == 120


def test_a_member_who_has_confirmed_gets_the_balance_at_once(careful, owner):
    factories.customer(careful, email="ada@example.com", email_verified_at=timezone.now())

    imported(owner, LABEL, careful, HEADER + ADA)

    assert balances(careful) == {"ada@example.com": 120}


def test_what_waits_follows_when_the_brand_asks_no_more(careful, owner):
    imported(owner, LABEL, careful, HEADER + ADA)
    assert opening_balances.release_where_not_needed(at=timezone.now()) == 0
    careful.requires_confirmed_email = False
    careful.save()

    assert opening_balances.release_where_not_needed(at=timezone.now()) == 1

    assert balances(careful) == {"ada@example.com": Decimal(120)}


@pytest.fixture
def no_longer_careful(db):
    """Makes a brand at which balances waited for so many members, and that asks for confirmed addresses no more."""

    def made(members):
        brand = factories.brand()
        factories.level(brand)
        people = [factories.customer(brand) for _number in range(members)]
        held = [(each.pk, Decimal(5)) for each in people]
        opening_balances.hold(brand_id=brand.pk, balances=held, reason_id="opening:old", at=timezone.now())
        return brand, people

    return made


def points_of(people):
    return [account.points for account in UserPoints.objects.filter(user__in=people).order_by("user")]


def test_an_account_without_room_for_its_balance_keeps_no_other_waiting(no_longer_careful, caplog):
    (_full_brand, (full, colleague)), (_brand, people) = no_longer_careful(2), no_longer_careful(1)
    most = Decimal("999999999999.99")
    UserPoints.objects.filter(user=full).update(points_earned=most, points_redeemed=most)

    assert opening_balances.release_where_not_needed(at=timezone.now()) == 2

    assert points_of([full, colleague, *people]) == [0, 5, 5]
    assert list(OpeningBalance.objects.values_list("user", flat=True)) == [full.pk]
    assert "could not be credited" in caplog.text


def test_a_brand_with_many_waiting_balances_leaves_the_others_their_turn(no_longer_careful, monkeypatch):
    monkeypatch.setattr(opening_balances, "ACCOUNTS_AT_ONCE", 1)
    (busy, many), (brand, people) = no_longer_careful(3), no_longer_careful(1)
    credited, credit = [], opening_balances.credit

    def noting(*, brand_id, **rest):
        credited.append(brand_id)
        return credit(brand_id=brand_id, **rest)

    monkeypatch.setattr(opening_balances, "credit", noting)

    assert opening_balances.release_where_not_needed(at=timezone.now()) == 4
    assert set(credited[:2]) == {busy.pk, brand.pk}
    assert points_of([*many, *people]) == [5] * 4


# --- What else follows


def test_webhooks_that_listen_hear_of_it(brand, owner):
    """Control: test_nobody_is_told, where none listens."""
    WebhookEndpoint.objects.create(
        brand=brand, url="https://crm.example.net/", types=["member.enrolled", "points.earned", "level.reached"]
    )

    imported(owner, LABEL, brand, HEADER + ADA + BOB)

    event_types = [
        event.detail["payload"]["type"] for event in Event.objects.filter(brand=brand, detail_type="announce")
    ]
    assert sorted(event_types) == ["level.reached", "member.enrolled", "member.enrolled", "points.earned"]
    assert not Event.objects.filter(brand=brand, detail_type="notify").exists()


def test_a_pass_that_exists_shows_the_new_balance(brand, owner):
    customer = factories.customer(brand, email="ada@example.com")
    wallets.apple(brand)
    passes.issue(account=factories.account(customer, brand), platform="apple", at=timezone.now())

    imported(owner, LABEL, brand, HEADER + ADA + BOB)

    [event] = Event.objects.filter(brand=brand, detail_type="balance-changed")
    assert event.detail["payload"]["points"] == 120


def test_more_members_than_one_portion_are_imported_whole_or_not_at_all(brand, monkeypatch):
    monkeypatch.setattr(member_imports, "PORTION", 3)
    rows = [member_imports.MemberRow(f"m{number}@example.com", points=Decimal(number)) for number in range(10)]
    context = AuditContext(factories.user(is_superuser=True), timezone.now())

    member_imports.write(brand=brand, rows=rows, source="", audit_context=context)

    assert balances(brand) == {f"m{number}@example.com": number for number in range(10)}
    assert AuditLogEntry.objects.filter(kind=LABEL).count() == 10
    assert LoyaltyTransaction.objects.count() == 9


@pytest.mark.django_db(transaction=True)
def test_the_same_file_twice_at_once_is_imported_once(transactional_db):
    brand = factories.brand()
    rows = [member_imports.MemberRow(f"m{number}@example.com", points=Decimal(5)) for number in range(50)]
    operator = factories.user(is_superuser=True)

    def work(_turn):
        with transaction.atomic():
            context = AuditContext(operator, timezone.now())
            member_imports.write(brand=brand, rows=rows, source="", audit_context=context)

    outcomes = at_once(work, range(4))

    assert sorted(type(each).__name__ for each in outcomes) == ["Invalid", "Invalid", "Invalid", "NoneType"]
    assert set(balances(brand).values()) == {5}
    assert LoyaltyTransaction.objects.count() == len(rows)
