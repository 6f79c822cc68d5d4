"""What customers read, with the application's own filter by customer switched off: nothing of anybody else's."""

import json
import re
import sys
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.apps import apps
from django.core.exceptions import MultipleObjectsReturned, ObjectDoesNotExist
from django.core.files.base import ContentFile
from django.db import connection
from django.db.models import ForeignKey, QuerySet
from django.urls import get_resolver
from django.utils import timezone

from authcodes.models.scans import Scan
from authcodes.scanning import lookups, scan
from authcodes.scanning.types import ScanContext
from brands.identity.authentication import principal_of
from brands.isolation import policies
from brands.models.legal_texts import LegalText
from brands.models.people import User
from campaigns.models.campaigns import RewardClaim, UserLoyaltyCampaign
from core.db import row_guard
from jobs.models import Job
from loyalty.models.accounts import UserPoints
from loyalty.models.members.consents import Consent
from loyalty.models.notifications import Device, Notification, NotificationDelivery, NotificationPreference
from loyalty.models.orders import CreditedOrder
from loyalty.wallets import passes
from tests.support import factories
from tests.support.fakes import wallets
from tests.support.portal import text

pytestmark = pytest.mark.django_db
MARKER = "quagga"
# What leads from a row to its customer, in the queries of views.
OF_PERSON = {"user", "user_id", "customer", "user_point", "user_point__user_id", "account__user_id"}
NOT_PERSONAL = {"customer/wallet"}  # the same for every customer
FOREIGN_KEYS_OF_STAFF = {
    "campaigns.Replay",
    "loyalty.Broadcast",
    "loyalty.MemberNote",
    "authcodes.AuthCode",
    "authcodes.BatchRange",
    "authcodes.CodeChange",
    "authcodes.CodePrefix",
    "authcodes.Import",
    "authcodes.WithdrawnRecall",
    "authcodes.PrintRun",
    "authcodes.Recall",
    "authcodes.RecallReturn",
    "brands.AuditLogEntry",
    "brands.StaffRole",
    "jobs.StagedUpload",
    "jobs.ReportRecipient",
    "jobs.ReportSchedule",
    "brands.SavedList",
    "brands.UndoOffer",
    "campaigns.EarningRule",
    "loyalty.PointsApproval",
    "staff_login.Invitation",
}
FIGURES = {
    "authcodes.UniqueScanner",
    "authcodes.UniqueScannerRollup",
    "loyalty.ActiveMember",
    "loyalty.ListedMember",
}  # for the dashboard, the programme and lists, which customers never read


def customer_paths():
    """Every address at which customers read, from the URL conf."""
    [api] = [each for each in get_resolver().url_patterns if str(each.pattern) == "api/v1/"]
    methods = {
        str(each.pattern): getattr(getattr(each.callback, "cls", None), "get", None)
        for app in api.url_patterns
        for each in app.url_patterns
    }
    return sorted(
        path for path, method in methods.items() if getattr(method, "runs_under", "") == row_guard.OF_CUSTOMER
    )


def customer_with_everything(brand, campaign, marker):
    """A customer of whom each table has something, in which the `marker` stands wherever there is room for it."""
    person = factories.customer(brand, email=f"{marker}@example.com", first_name=marker)
    account = factories.account(person, brand)
    factories.points(person, brand, 500, reason_id=marker)
    UserPoints.objects.filter(pk=account.pk).update(current_level=f"{marker} level")
    factories.redemption(person, factories.reward(brand, name="A mug", limit_per_member=1))
    milestone = factories.milestone(campaign, len(marker), reward_name="A cup", auto_claim=False)
    UserLoyaltyCampaign.objects.create(user=person, campaign=campaign, progress=len(marker))
    RewardClaim.objects.create(user=person, milestone=milestone)
    NotificationPreference.objects.update_or_create(
        user=person, brand=brand, defaults={"phone": f"+49151{len(marker)}5678"}
    )
    Device.objects.create(user=person, brand=brand, token=f"{marker}-device", platform="ios")
    CreditedOrder.objects.create(user=person, brand=brand, order_id=f"{marker}-order", credited_at=timezone.now())
    terms = LegalText.objects.filter(brand=brand).first() or factories.legal_text(brand)
    consented_at = datetime(2020, 1, len(marker), tzinfo=UTC)
    Consent.objects.create(user=person, brand=brand, legal_texts=[terms.pk], consented_at=consented_at)
    notification = Notification.objects.create(brand=brand, user=person, template="NOTIFY_LEVEL_REACHED", key=marker)
    fields = {
        "notification": notification,
        "brand": brand,
        "user": person,
        "template": notification.template,
        "event_id": uuid.uuid4(),
    }
    NotificationDelivery.objects.create(**fields, channel="email", language="en", masked_address=f"{marker}@•••")
    passes.issue(account=account, platform="apple", at=timezone.now())
    exported(person, brand, marker)
    code = factories.code(brand)
    circumstances = ScanContext(at=timezone.now(), user_id=person.pk, brand_id=brand.pk, device=f"{marker} phone")
    scan.scan(scanned=code.code, context=circumstances)
    result = scan.preview(scanned=code.code, context=circumstances)
    lookups.note(result=result, scanned=code.code, context=circumstances)
    return person


def exported(person, brand, marker):
    """A finished export of the customer's data."""
    job = Job.objects.create(
        brand=brand,
        customer=person,
        kind="export-customer-data",
        status=Job.Status.DONE,
        finished_at=timezone.now(),
        expires_at=timezone.now() + timedelta(days=1),
        parameters={"file": marker},
        result_bytes=1000 + len(marker),
    )
    job.result.save("data.json", ContentFile(json.dumps({"success": True, "data": {"of": marker}})))


@pytest.fixture
def two(brand):
    """The reader, and one of the other customers of the same brand."""
    wallets.apple(brand)
    campaign = factories.campaign(brand, target_value=100)
    other = customer_with_everything(brand, campaign, MARKER)
    reader = customer_with_everything(brand, campaign, "reading")
    customer_with_everything(brand, campaign, f"{MARKER}-2")  # whatever the order, the reader is not the first
    return reader, other


@pytest.fixture
def caller(api, two):
    return api.as_customer(two[0])


@pytest.fixture
def expected(caller, two):
    return {path: answer(caller, path) for path in customer_paths()}


def answer(caller, path):
    """What is answered; what went wrong where a row was missing, or where there were several."""
    try:
        return re.sub(r'"download_url.*?[,}]', "", text(caller.get(path)))  # the link is signed with the time
    except (ObjectDoesNotExist, MultipleObjectsReturned) as error:
        return type(error).__name__


def without_guard(monkeypatch):
    connection.ensure_connection()
    connection.assume()
    monkeypatch.setitem(connection.settings_dict, "GUARD", False)


@pytest.fixture
def forgotten(expected, monkeypatch):
    """As if every query had forgotten whose rows it wants."""
    filtered = QuerySet.filter

    def unfiltered(rows, *conditions, **named):
        gone = OF_PERSON | ({"pk"} if rows.model is User else set())
        return filtered(rows, *conditions, **{name: value for name, value in named.items() if name not in gone})

    monkeypatch.setattr(QuerySet, "filter", unfiltered)


@pytest.fixture
def mistaken(expected, two, monkeypatch):
    """As if every view asked for another customer than the token's."""
    for module in [
        module for name, module in sys.modules.items() if re.match(r"(loyalty|campaigns|authcodes)\.api\.", name)
    ]:
        if hasattr(module, "principal_of"):
            monkeypatch.setattr(
                module, "principal_of", lambda found, **more: replace(principal_of(found, **more), user_id=two[1].pk)
            )


def test_there_is_something_to_read():
    assert len(customer_paths()) >= 8


def test_a_forgotten_filter_answers_what_is_the_customers_own(caller, expected, forgotten):
    assert {path: answer(caller, path) for path in customer_paths()} == expected


def test_control_a_forgotten_filter_without_the_guard_mixes_customers(caller, expected, forgotten, monkeypatch):
    without_guard(monkeypatch)

    same = {path for path in customer_paths() if answer(caller, path) == expected[path]}
    assert same == NOT_PERSONAL


def test_a_view_that_asks_for_another_customer_gets_nothing_of_theirs(caller, mistaken):
    for path in customer_paths():
        assert not of_other(answer(caller, path)), path


def test_control_without_the_guard_it_gets_all_of_it(caller, mistaken, monkeypatch):
    without_guard(monkeypatch)

    assert {path for path in customer_paths() if not of_other(answer(caller, path))} == NOT_PERSONAL


def of_other(found):
    """Whether an answer tells of the other customer: words of theirs, or figures."""
    return any(
        sign in found
        for sign in (
            MARKER,
            '"points":490',
            '"progress":6',
            '"taken":1',
            '"bytes":1006',
            '"redemption_id":',
            '"number":',
            '"agreed_at":"2020-01-06',
        )
    )


THROUGH_ANOTHER_ROW = {"loyalty.WalletPass", "loyalty.PoolCode"}  # whose customer is that of an account or redemption


def test_every_table_with_persons_says_whose_its_rows_are():
    for model in apps.get_models():
        keys = [each for each in model._meta.get_fields() if isinstance(each, ForeignKey)]
        persons = any(each.related_model in {User, UserPoints} for each in keys)
        label = model._meta.label
        if not persons or model._meta.db_table in policies.UNGUARDED or label in FOREIGN_KEYS_OF_STAFF | FIGURES:
            assert not getattr(model, "customer_through", ()) or label in THROUGH_ANOTHER_ROW, label
            continue
        assert getattr(model, "customer_through", ()) or "user_point" in getattr(model, "brand_through", ()), (
            f"{label} has a key to a person: say by `customer_through` which of them is the customer whose row it is"
        )


def test_a_customer_sees_no_row_of_what_is_not_for_customers(two, brand):
    hidden = {
        "authcodes.Product",
        "authcodes.AuthCode",
        "brands.ApiKey",
        "brands.AuditLogEntry",
        "events.Event",
        "authcodes.BatchRange",
    }
    for label in hidden:
        model = apps.get_model(label)
        with row_guard.within([brand.pk], user_id=two[0].pk):
            model.objects.exists()
        with row_guard.as_customer(brand.pk, two[0].pk):
            assert not model.objects.exists(), label
            assert Scan.objects.count() == 1
            with row_guard.brand_wide("a test"):
                assert Scan.objects.count() == 3
