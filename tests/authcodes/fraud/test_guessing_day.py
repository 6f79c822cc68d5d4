"""A day of guessing, by real calls: how many live codes attackers learn who have ten new accounts and one network."""

from datetime import timedelta

import pytest
from django.conf import settings as project
from django.utils import timezone

from authcodes.codes import signed_tags
from authcodes.models.codes import AuthCode
from authcodes.models.lookups import CodeLookup
from authcodes.models.scans import Scan
from brands.models.tenants import Brand
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories

SHIPPED = dict(project.RATE_LIMITS)  # before a fixture changes them
ACCOUNTS = 10
LIVE_CODES = 1_000_000  # of a brand that prints plain codes; docs/guessing.md has the figure for others


@pytest.fixture
def defaults(settings):
    """The limits as shipped, but for calls a minute: a day is 1,440 of those, and here only the budgets count."""

    def give():
        settings.RATE_LIMITS = {**SHIPPED, "scan": "1000000/minute"}

    return give


def guess_for_a_day(api, brand, codes, *, tag="", time_machine):
    """Every three hours each account, a guest of the app and one without a key go on until refused. The calls made."""
    accounts = [factories.customer(brand) for _ in range(ACCOUNTS)]
    left, calls, start = iter(codes), 0, timezone.now()
    for hour in range(0, 24, 3):
        time_machine.move_to(start + timedelta(hours=hour, seconds=1))
        for caller in [*(api.as_customer(each) for each in accounts), api.app(), api]:
            for code in left:
                calls += 1
                path = "auth-codes/validate" if calls % 2 else "auth-codes/scan"
                if caller.post(path, {"code": f"{code}{tag}"}).status_code == 429:
                    break
    return calls


def codes_of(batch):
    return list(batch.codes.order_by("code").values_list("code", flat=True))


def learnt(calls):
    print(f"{calls} calls; {found()} live codes, {100 * found() / LIVE_CODES:.4f} % of {LIVE_CODES:,}")  # noqa: T201


def found():
    """Live codes that were scanned or named by a lookup."""
    scanned = Scan.objects.filter(outcome=Scan.Outcome.SUCCESS).values_list("auth_code_id", flat=True)
    named = CodeLookup.objects.filter(reason=Scan.Reason.ACCEPTED).values_list("auth_code_id", flat=True)
    return len({*scanned, *named})


def test_of_plain_codes_less_than_a_thousandth_is_learnt_in_a_day(api, brand, defaults, time_machine):
    codes = codes_of(factories.batch(brand, quantity=4_000, number_width=7))[
        ::5
    ]  # of a hundred together fewer are let pass
    defaults()

    calls = guess_for_a_day(api, brand, codes, time_machine=time_machine)

    learnt(calls)
    # What the network may try through the brand's app, and as much by calls that name no brand.
    assert found() == 400 < LIVE_CODES / 1000


def test_of_signed_codes_none_is_learnt(api, brand, defaults, time_machine, settings):
    settings.CODE_TAG_SECRETS = {1: "x" * 32}
    batch = factories.batch(brand, quantity=1_000, number_width=7, signed=True)
    codes = codes_of(batch)
    defaults()

    calls = guess_for_a_day(api, brand, codes, tag="." + "0" * signed_tags.LENGTH, time_machine=time_machine)

    learnt(calls)
    assert found() == 0


def test_control_without_the_budgets_everything_is_learnt(api, brand, time_machine):
    codes = codes_of(factories.batch(brand, quantity=300, number_width=7))

    guess_for_a_day(api, brand, codes, time_machine=time_machine)

    assert found() == 300


# --- Accounts whose address nobody has confirmed ---------------------------------------------------------------------


def points_of_a_day(api, brand, *, time_machine, deliver):
    """The points that throw-away accounts get by guessing plain codes all day, and how many codes they scanned."""
    codes = codes_of(factories.batch(brand, quantity=220, number_width=7))
    guess_for_a_day(api, brand, codes, time_machine=time_machine)
    deliver()
    scanned = Scan.objects.filter(outcome=Scan.Outcome.SUCCESS, user__isnull=False).values("auth_code_id").distinct()
    return sum(LoyaltyTransaction.objects.values_list("points_earned", flat=True)), scanned.count()


def test_unconfirmed_accounts_earn_nothing_and_keep_no_code_from_its_buyer(api, brand, time_machine, deliver):
    Brand.objects.filter(pk=brand.pk).update(requires_confirmed_email=True)
    points, scanned = points_of_a_day(api, brand, time_machine=time_machine, deliver=deliver)
    assert (points, scanned > 100) == (0, True)

    buyer = factories.customer(brand, email_verified_at=timezone.now())
    buyer_api = api.as_customer(buyer)
    answers = {buyer_api.verify(code).json()["points_status"] for code in AuthCode.objects.filter(scan_count__gt=0)}
    deliver()

    assert answers == {"pending"}
    assert factories.account(buyer, brand).points >= 10 * scanned


def test_control_where_the_brand_asks_for_no_address_they_earn(api, brand, time_machine, deliver):
    points, scanned = points_of_a_day(api, brand, time_machine=time_machine, deliver=deliver)

    assert points == 10 * scanned > 1_000
