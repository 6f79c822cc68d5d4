"""A simulated day of guessing with real calls: how many live codes attackers learn from one network."""

from datetime import timedelta

import pytest
from django.conf import settings as project_settings
from django.utils import timezone

from authcodes.codes import signed_tags
from authcodes.models.codes import AuthCode
from authcodes.models.lookups import CodeLookup
from authcodes.models.scans import Scan
from brands.models.tenants import Brand
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories

SHIPPED_LIMITS = dict(project_settings.RATE_LIMITS)  # before a fixture changes them
ACCOUNTS = 10
LIVE_CODES = 1_000_000  # of a brand that prints plain codes; docs/guessing.md has the figure for others


@pytest.fixture
def set_shipped_limits(settings):
    """Sets the shipped limits, except calls per minute: only the limits of an hour or a day matter here."""

    def apply():
        settings.RATE_LIMITS = {**SHIPPED_LIMITS, "scan": "1000000/minute"}

    return apply


def guess_for_a_day(api, brand, codes, *, tag="", time_machine):
    """Lets accounts and guests guess every three hours until they are rejected. Returns the number of calls."""
    accounts = [factories.customer(brand) for _ in range(ACCOUNTS)]
    remaining, calls, start = iter(codes), 0, timezone.now()
    for hour in range(0, 24, 3):
        time_machine.move_to(start + timedelta(hours=hour, seconds=1))
        for caller in [*(api.as_customer(account) for account in accounts), api.app(), api]:
            for code in remaining:
                calls += 1
                path = "auth-codes/validate" if calls % 2 else "auth-codes/scan"
                if caller.post(path, {"code": f"{code}{tag}"}).status_code == 429:
                    break
    return calls


def codes_of(batch):
    return list(batch.codes.order_by("code").values_list("code", flat=True))


def print_result(calls):
    print(f"{calls} calls; {count_learnt()} live codes, {100 * count_learnt() / LIVE_CODES:.4f} % of {LIVE_CODES:,}")  # noqa: T201


def count_learnt():
    """The number of live codes that were scanned or confirmed by a lookup."""
    scanned = Scan.objects.filter(outcome=Scan.Outcome.SUCCESS).values_list("auth_code_id", flat=True)
    confirmed = CodeLookup.objects.filter(reason=Scan.Reason.ACCEPTED).values_list("auth_code_id", flat=True)
    return len({*scanned, *confirmed})


def test_less_than_a_thousandth_of_plain_codes_is_learnt_in_a_day(api, brand, set_shipped_limits, time_machine):
    codes = codes_of(factories.batch(brand, quantity=4_000, number_width=7))[
        ::5
    ]  # fewer guesses of neighbouring codes are let through
    set_shipped_limits()

    calls = guess_for_a_day(api, brand, codes, time_machine=time_machine)

    print_result(calls)
    # What the network may try with the brand's app key, and as much by calls without a key.
    assert count_learnt() == 400 < LIVE_CODES / 1000


def test_no_signed_code_is_learnt(api, brand, set_shipped_limits, time_machine, settings):
    settings.CODE_TAG_SECRETS = {1: "x" * 32}
    batch = factories.batch(brand, quantity=1_000, number_width=7, signed=True)
    codes = codes_of(batch)
    set_shipped_limits()

    calls = guess_for_a_day(api, brand, codes, tag="." + "0" * signed_tags.LENGTH, time_machine=time_machine)

    print_result(calls)
    assert count_learnt() == 0


def test_control_without_the_limits_every_code_is_learnt(api, brand, time_machine):
    codes = codes_of(factories.batch(brand, quantity=300, number_width=7))

    guess_for_a_day(api, brand, codes, time_machine=time_machine)

    assert count_learnt() == 300


# --- Accounts without a confirmed e-mail address ---------------------------------------------------------------------


def guess_points_for_a_day(api, brand, *, time_machine, deliver):
    """The points that new accounts earn by guessing plain codes for a day, and the number of codes they scanned."""
    codes = codes_of(factories.batch(brand, quantity=220, number_width=7))
    guess_for_a_day(api, brand, codes, time_machine=time_machine)
    deliver()
    scanned = Scan.objects.filter(outcome=Scan.Outcome.SUCCESS, user__isnull=False).values("auth_code_id").distinct()
    return sum(LoyaltyTransaction.objects.values_list("points_earned", flat=True)), scanned.count()


def test_unconfirmed_accounts_earn_no_points_and_buyers_still_do(api, brand, time_machine, deliver_events):
    Brand.objects.filter(pk=brand.pk).update(requires_confirmed_email=True)
    points, scanned = guess_points_for_a_day(api, brand, time_machine=time_machine, deliver=deliver_events)
    assert (points, scanned > 100) == (0, True)

    buyer = factories.customer(brand, email_verified_at=timezone.now())
    buyer_api = api.as_customer(buyer)
    answers = {buyer_api.verify(code).json()["points_status"] for code in AuthCode.objects.filter(scan_count__gt=0)}
    deliver_events()

    assert answers == {"pending"}
    assert factories.account(buyer, brand).points >= 10 * scanned


def test_control_without_required_confirmation_the_accounts_earn_points(api, brand, time_machine, deliver_events):
    points, scanned = guess_points_for_a_day(api, brand, time_machine=time_machine, deliver=deliver_events)

    assert points == 10 * scanned > 1_000
