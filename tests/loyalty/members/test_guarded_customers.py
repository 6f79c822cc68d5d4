"""The row guard: customers read only their own rows, even where the application does not filter by customer."""

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
# Lookups by which the queries of views select a customer's rows.
CUSTOMER_LOOKUPS = {"user", "user_id", "customer", "user_point", "user_point__user_id", "account__user_id"}
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
STATISTICS = {
    "authcodes.UniqueScanner",
    "authcodes.UniqueScannerRollup",
    "loyalty.ActiveMember",
    "loyalty.ListedMember",
}  # for the dashboard, the programme and lists, which customers never read


def customer_paths():
    """Every path that customers read, from the URL configuration."""
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
    """A customer with a row in each table; every text of these rows contains the `marker`."""
    customer = factories.customer(brand, email=f"{marker}@example.com", first_name=marker)
    account = factories.account(customer, brand)
    factories.points(customer, brand, 500, reason_id=marker)
    UserPoints.objects.filter(pk=account.pk).update(current_level=f"{marker} level")
    factories.redemption(customer, factories.reward(brand, name="A mug", limit_per_member=1))
    milestone = factories.milestone(campaign, len(marker), reward_name="A cup", auto_claim=False)
    UserLoyaltyCampaign.objects.create(user=customer, campaign=campaign, progress=len(marker))
    RewardClaim.objects.create(user=customer, milestone=milestone)
    NotificationPreference.objects.update_or_create(
        user=customer, brand=brand, defaults={"phone": f"+49151{len(marker)}5678"}
    )
    Device.objects.create(user=customer, brand=brand, token=f"{marker}-device", platform="ios")
    CreditedOrder.objects.create(user=customer, brand=brand, order_id=f"{marker}-order", credited_at=timezone.now())
    terms = LegalText.objects.filter(brand=brand).first() or factories.legal_text(brand)
    consented_at = datetime(2020, 1, len(marker), tzinfo=UTC)
    Consent.objects.create(user=customer, brand=brand, legal_texts=[terms.pk], consented_at=consented_at)
    notification = Notification.objects.create(brand=brand, user=customer, template="NOTIFY_LEVEL_REACHED", key=marker)
    fields = {
        "notification": notification,
        "brand": brand,
        "user": customer,
        "template": notification.template,
        "event_id": uuid.uuid4(),
    }
    NotificationDelivery.objects.create(**fields, channel="email", language="en", masked_address=f"{marker}@•••")
    passes.issue(account=account, platform="apple", at=timezone.now())
    create_export(customer, brand, marker)
    code = factories.code(brand)
    scan_context = ScanContext(at=timezone.now(), user_id=customer.pk, brand_id=brand.pk, device=f"{marker} phone")
    scan.scan(scanned=code.code, context=scan_context)
    result = scan.preview(scanned=code.code, context=scan_context)
    lookups.note(result=result, scanned=code.code, context=scan_context)
    return customer


def create_export(customer, brand, marker):
    """A finished export of the customer's data."""
    job = Job.objects.create(
        brand=brand,
        customer=customer,
        kind="export-customer-data",
        status=Job.Status.DONE,
        finished_at=timezone.now(),
        expires_at=timezone.now() + timedelta(days=1),
        parameters={"file": marker},
        result_bytes=1000 + len(marker),
    )
    job.result.save("data.json", ContentFile(json.dumps({"success": True, "data": {"of": marker}})))


@pytest.fixture
def customers(brand):
    """The reader, and another customer of the same brand."""
    wallets.apple(brand)
    campaign = factories.campaign(brand, target_value=100)
    other = customer_with_everything(brand, campaign, MARKER)
    reader = customer_with_everything(brand, campaign, "reading")
    customer_with_everything(brand, campaign, f"{MARKER}-2")  # so the reader is neither first nor last
    return reader, other


@pytest.fixture
def caller(api, customers):
    return api.as_customer(customers[0])


@pytest.fixture
def expected(caller, customers):
    return {path: read(caller, path) for path in customer_paths()}


def read(caller, path):
    """The text of the response, or the name of the error if a row is missing or there are several."""
    try:
        return re.sub(r'"download_url.*?[,}]', "", text(caller.get(path)))  # the link is signed with the time
    except (ObjectDoesNotExist, MultipleObjectsReturned) as error:
        return type(error).__name__


def disable_guard(monkeypatch):
    connection.ensure_connection()
    connection.assume()
    monkeypatch.setitem(connection.settings_dict, "GUARD", False)


@pytest.fixture
def missing_filters(expected, monkeypatch):
    """Removes the filter by customer from every query."""
    filtered = QuerySet.filter

    def unfiltered(queryset, *conditions, **filters):
        dropped = CUSTOMER_LOOKUPS | ({"pk"} if queryset.model is User else set())
        return filtered(
            queryset, *conditions, **{name: value for name, value in filters.items() if name not in dropped}
        )

    monkeypatch.setattr(QuerySet, "filter", unfiltered)


@pytest.fixture
def wrong_customer(expected, customers, monkeypatch):
    """Makes every view query another customer than the token's."""
    for module in [
        module for name, module in sys.modules.items() if re.match(r"(loyalty|campaigns|authcodes)\.api\.", name)
    ]:
        if hasattr(module, "principal_of"):
            monkeypatch.setattr(
                module,
                "principal_of",
                lambda request, **options: replace(principal_of(request, **options), user_id=customers[1].pk),
            )


def test_customers_have_paths_to_read():
    assert len(customer_paths()) >= 8


def test_missing_customer_filter_returns_only_own_rows(caller, expected, missing_filters):
    assert {path: read(caller, path) for path in customer_paths()} == expected


def test_control_missing_filter_without_the_guard_mixes_customers(caller, expected, missing_filters, monkeypatch):
    disable_guard(monkeypatch)

    same = {path for path in customer_paths() if read(caller, path) == expected[path]}
    assert same == NOT_PERSONAL


def test_view_querying_another_customer_returns_none_of_their_data(caller, wrong_customer):
    for path in customer_paths():
        assert not has_data_of_other_customer(read(caller, path)), path


def test_control_view_without_the_guard_returns_data_of_another_customer(caller, wrong_customer, monkeypatch):
    disable_guard(monkeypatch)

    assert {path for path in customer_paths() if not has_data_of_other_customer(read(caller, path))} == NOT_PERSONAL


def has_data_of_other_customer(content):
    """Whether a response contains texts or figures of the other customer."""
    return any(
        trace in content
        for trace in (
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


THROUGH_ANOTHER_ROW = {"loyalty.WalletPass", "loyalty.PoolCode"}  # their customer is that of an account or redemption


def test_every_table_with_personal_rows_declares_its_customer():
    for model in apps.get_models():
        keys = [each for each in model._meta.get_fields() if isinstance(each, ForeignKey)]
        has_customer_key = any(each.related_model in {User, UserPoints} for each in keys)
        label = model._meta.label
        if (
            not has_customer_key
            or model._meta.db_table in policies.UNGUARDED
            or label in FOREIGN_KEYS_OF_STAFF | STATISTICS
        ):
            assert not getattr(model, "customer_through", ()) or label in THROUGH_ANOTHER_ROW, label
            continue
        assert getattr(model, "customer_through", ()) or "user_point" in getattr(model, "brand_through", ()), (
            f"{label} has a foreign key to a user: name the customer of its rows in `customer_through`"
        )


def test_customer_reads_no_rows_of_internal_tables(customers, brand):
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
        with row_guard.within([brand.pk], user_id=customers[0].pk):
            model.objects.exists()
        with row_guard.as_customer(brand.pk, customers[0].pk):
            assert not model.objects.exists(), label
            assert Scan.objects.count() == 1
            with row_guard.brand_wide("a test"):
                assert Scan.objects.count() == 3
