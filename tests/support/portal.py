"""The portal in tests: a logged-in client, and a brand with one row of each model."""

import io
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest import mock
from uuid import uuid4

from django.contrib import admin
from django.db.models import Model
from django.template.response import SimpleTemplateResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pypdf import PdfReader

from authcodes.codes.ranges import full_range
from authcodes.models.fake_reports import FakeReport
from authcodes.models.imports import Import
from authcodes.models.prefixes import CodePrefix
from authcodes.models.prints import LabelLayout, Printer, PrintRun
from authcodes.models.scans import Scan
from authcodes.printing import runs, selection
from authcodes.printing.request import PrintRequest
from authcodes.recalls import recalls
from brands.identity import api_keys
from brands.models.audit import AuditLogEntry
from brands.models.legal_texts import LegalText
from brands.models.people import StaffRole, User
from brands.models.quotas import BrandQuota, StoppedAttempts
from brands.models.saved_lists import SavedList
from brands.models.tenants import Brand, BrandHostname
from brands.staff_login.models import Invitation, SignInSettings
from campaigns.models.campaigns import RewardClaim, UserLoyaltyCampaign
from campaigns.models.replays import Replay
from events.models import Event
from jobs.models import Job, ReportSchedule
from loyalty.models.approvals import PointsApproval
from loyalty.models.external_system import ExternalSystem
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.levels import LevelChange
from loyalty.models.messages.addresses import SenderDomain, SuppressedAddress
from loyalty.models.messages.notification_segments import NotificationSegment
from loyalty.models.notifications import (
    Notification,
    NotificationDelivery,
    NotificationSettings,
    NotificationTemplate,
)
from loyalty.models.orders import CurrencyRate, OrderReturn
from loyalty.models.programme.costs import PointCost
from loyalty.models.programme.referrals import Referral, ReferralProgramme
from loyalty.models.programme.rollups import PointsRollup
from loyalty.models.rewards import PoolCode, Redemption
from loyalty.models.webhooks import WebhookDelivery, WebhookEndpoint
from loyalty.rewards import codes, pools
from loyalty.wallets import passes
from tests.support import factories
from tests.support.fakes import wallets

LABELS = sorted(model._meta.label_lower for model in admin.site._registry)
READ_ONLY = [
    "authcodes.codechange",
    "authcodes.fakereport",
    "jobs.job",
    "authcodes.withdrawnrecall",
    "authcodes.printrun",
    "authcodes.scan",
    "brands.auditlogentry",
    "brands.stoppedattempts",
    "campaigns.replay",
    "campaigns.rewardclaim",
    "campaigns.userloyaltycampaign",
    "events.event",
    "loyalty.levelchange",
    "loyalty.loyaltytransaction",
    "loyalty.notificationdelivery",
    "loyalty.orderreturn",
    "loyalty.pointsapproval",
    "loyalty.pointtransfer",
    "loyalty.poolcode",
    "loyalty.pointsrollup",
    "loyalty.redemption",
    "loyalty.referral",
    "loyalty.suppressedaddress",
    "loyalty.webhookdelivery",
    "loyalty.walletpass",
]


LAYOUT_PARTS = {
    "qr": {"left": "1", "top": "1", "width": "24", "height": "24", "centred": False},
    "code": {"left": "1", "top": "26", "width": "24", "height": "2.5", "centred": True},
    "note": {"left": "28", "top": "4", "width": "38", "height": "4", "centred": False},
}


def page(label: str) -> Any:
    return next(candidate for model, candidate in admin.site._registry.items() if model._meta.label_lower == label)


def address(label: str, action: str = "changelist", *args: Any) -> str:
    return reverse(f"admin:{label.replace('.', '_')}_{action}", args=args)


# Home, a list, a form, and pages of their own.
KINDS_OF_PAGES = [
    reverse("admin:index"),
    address("authcodes.product"),
    address("authcodes.product", "add"),
    reverse("admin:own_account"),
    reverse("admin:help_page", args=["portal"]),
]


def row_action_names(label: str) -> list[str]:
    """The actions of a model admin on one row by its id, its own and Django's, as names in addresses."""
    admin_page = page(label)
    prefix = f"{admin_page.opts.app_label}_{admin_page.opts.model_name}_"
    url_names = [(each.name or "", each.pattern.converters) for each in admin_page.get_urls()]
    return [
        name.removeprefix(prefix) for name, converters in url_names if name.startswith(prefix) and len(converters) == 1
    ]


def staff(*brands: Brand, role: str = "owner", **fields: Any) -> User:
    user = factories.user(is_staff=True, **fields)
    for brand in brands:
        StaffRole.objects.create(user=user, brand=brand, role=role)
    return user


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@contextmanager
def without_rendering() -> Iterator[None]:
    """Pages are not rendered to HTML, for tests that send hundreds of requests and read `response.context_data`."""
    with mock.patch.object(SimpleTemplateResponse, "rendered_content", ""):
        yield


def text(response: Any) -> str:
    """The content of a page, or the text of a PDF."""
    content = b"".join(response.streaming_content) if response.streaming else response.content
    if response["Content-Type"] == "application/pdf":
        return "\n".join(sheet.extract_text() for sheet in PdfReader(io.BytesIO(content)).pages)
    return content.decode()


def errors(response: Any) -> dict[str, list[str]]:
    """The errors of the form on a page."""
    context = response.context
    form = context["adminform"].form if "adminform" in context else context["form"]
    messages: dict[str, list[str]] = form.errors
    return messages


def form_of(response: Any) -> dict[str, Any]:
    """The data that a browser submits unchanged: the values of a page's form and of the tables inside it."""
    forms = [response.context["adminform"].form]
    for table in response.context["inline_admin_formsets"]:
        forms += [table.formset.management_form, *table.formset.forms]
    data = {}
    for form in forms:
        for bound in form:
            value = bound.value()
            if value is not None and value is not False:
                data[bound.html_name] = value
            if bound.field.show_hidden_initial:
                data[bound.html_initial_name] = "" if bound.initial is None else bound.initial
    return data


def brand_with_one_of_each(marker: str) -> tuple[Brand, dict[str, Model]]:
    """A brand, and one row of each model that the portal shows. Every text in them contains `marker`."""
    brand = factories.brand(name=f"{marker} brand", slug=f"{marker}-brand", support_email=f"help@{marker}.example.com")
    BrandHostname.objects.filter(brand=brand).update(hostname=f"{marker}.example.com")
    colleague = staff(brand, email=f"colleague@{marker}.example.com")
    customer = factories.customer(brand, email=f"customer@{marker}.example.com", first_name=f"{marker} first")
    account = factories.account(customer, brand)
    friend = factories.account(factories.customer(brand, email=f"friend@{marker}.example.com"), brand)
    campaign = factories.campaign(brand, campaign_name=f"{marker} campaign")
    milestone = factories.milestone(campaign, 1, reward_name=f"{marker} reward")
    product = factories.product(brand, sku=f"{marker}-sku", title=f"{marker} product")
    batch = factories.batch(
        brand,
        range_name=f"{marker} range",
        prefix=f"{marker}-",
        quantity=1,
        product=product,
        campaign=campaign,
    )
    recalled = factories.batch(brand, range_name=f"{marker} recalled", prefix=f"{marker}R-", product=product)
    withdrawn = factories.batch(brand, range_name=f"{marker} lifted", prefix=f"{marker}L-", product=product)
    reward = factories.reward(brand, name=f"{marker} reward for points")
    rule = factories.earning_rule(brand, "log-user-login", state="draft")
    key, _ = api_keys.create(brand=brand, kind="hub", name=f"{marker} key", at=timezone.now())
    recall_fields: Any = {
        "recall_id": f"{marker}-1",
        "contact": f"{marker} contact",
        "message": marker,
        "reason": marker,
    }
    recall = recalls.recall_batch(batch=withdrawn, at=timezone.now(), **recall_fields)
    webhook = WebhookEndpoint.objects.create(
        brand=brand, url=f"https://{marker}.example.net/", secret=f"whsec_{marker}", types=["points.earned"]
    )
    run = print_run_of(batch, by=colleague)
    saved = SavedList.objects.create(
        brand=brand, owner=colleague, name=f"{marker} list", model_label="authcodes.authcode", is_shared=True
    )
    PrintRun.objects.filter(pk=run.pk).update(sha256="0" * 64)  # as if its job were done: its page has a cover sheet
    return brand, {
        "brands.auditlogentry": AuditLogEntry.objects.create(
            brand=brand,
            user=colleague,
            kind="brands.apikey",
            row_id=key.pk,
            row_name=str(key),
            action=f"{marker} act",
        ),
        "brands.brand": brand,
        "brands.legaltext": LegalText.objects.create(
            brand=brand, kind="terms", text=f"{marker} terms", valid_from=timezone.now() + timedelta(days=1)
        ),
        "brands.user": customer,
        "brands.savedlist": saved,
        "jobs.reportschedule": ReportSchedule.objects.create(
            brand=brand, owner=colleague, saved_list=saved, frequency="daily", next_at=timezone.now(), time_zone="UTC"
        ),
        "brands.staffrole": StaffRole.objects.get(user=colleague),
        "staff_login.invitation": Invitation.objects.create(
            brand=brand, email=f"invited@{marker}.example.com", role="support", expires_at=timezone.now()
        ),
        "staff_login.signinsettings": SignInSettings.objects.create(
            brand=brand, oidc_issuer=f"https://{marker}.example.net/staff", oidc_client_id=marker
        ),
        "brands.apikey": key,
        "brands.brandquota": BrandQuota.objects.create(brand=brand, resource="codes", limit=50_000_000),
        "brands.stoppedattempts": StoppedAttempts.objects.create(
            brand=brand, kind="codes", hour=timezone.now(), number=7
        ),
        "campaigns.campaign": campaign,
        "campaigns.userloyaltycampaign": UserLoyaltyCampaign.objects.create(user=customer, campaign=campaign),
        "campaigns.rewardclaim": RewardClaim.objects.create(user=customer, milestone=milestone),
        "loyalty.brandlevel": factories.level(brand, name=f"{marker} level"),
        "loyalty.currencyrate": CurrencyRate.objects.create(brand=brand, currency="USD", rate="1.1"),
        "loyalty.orderreturn": OrderReturn.objects.create(
            brand=brand,
            order_id=f"{marker}-order",
            return_id=f"{marker}-return",
            user=customer,
            kind=OrderReturn.Kind.RETURNED,
            event=1,
        ),
        "loyalty.pointcost": PointCost.objects.create(brand=brand, valid_from="2026-01-01", cost="0.01"),
        "loyalty.pointsrollup": PointsRollup.objects.create(
            brand=brand, day="2026-01-01", movement="earned", points=10, entries=1
        ),
        "campaigns.earningrule": rule,
        "campaigns.replay": Replay.objects.create(
            brand=brand,
            rule=rule,
            name=f"{marker} rule",
            content={},
            since=timezone.now() - timedelta(days=1),
            until=timezone.now(),
            expires_at=timezone.now() + timedelta(days=1),
        ),
        "campaigns.eventkind": factories.event_kind(brand, f"{marker}-visit", f"{marker} visit", floor="whole"),
        "loyalty.segment": factories.segment(brand, name=f"{marker} segment"),
        "loyalty.broadcast": factories.broadcast(brand, name=f"{marker} broadcast", body=f"{marker} body"),
        "loyalty.notificationsegment": NotificationSegment.objects.create(
            brand=brand,
            template="NOTIFY_LEVEL_REACHED",
            segment=factories.segment(brand, name=f"{marker} other segment"),
        ),
        "loyalty.userpoints": account,
        "loyalty.loyaltytransaction": LoyaltyTransaction.objects.create(
            user_point=account, points_earned=1, reason="earned", reason_id=f"{marker}:1", note=f"{marker} note"
        ),
        "loyalty.levelchange": LevelChange.objects.create(
            brand=brand,
            user_point=account,
            level_before=f"{marker} old",
            level_after=marker,
            reason="reached",
            points=1,
        ),
        "loyalty.pointtransfer": factories.transfer(account, friend),
        "loyalty.referralprogramme": ReferralProgramme.objects.create(brand=brand, referrer_points=9, friend_points=9),
        "loyalty.referral": Referral.objects.create(brand=brand, referrer=account, friend=friend),
        **notifications(brand, customer, marker),
        "loyalty.webhookendpoint": webhook,
        "loyalty.webhookdelivery": WebhookDelivery.objects.create(
            endpoint=webhook, brand=brand, message_id=f"{marker}1", type="points.earned", body=f'{{"note": "{marker}"}}'
        ),
        "loyalty.externalsystem": ExternalSystem.objects.create(
            brand=brand, url=f"https://{marker}.example.org/", secret=f"whsec_{marker}"
        ),
        "events.event": event(brand, source=f"{marker}.customer-app", detail={"payload": {"note": marker}}),
        "loyalty.reward": reward,
        "loyalty.poolcode": PoolCode.objects.create(
            brand=brand, reward=reward, code=f"{marker}-voucher", digest=pools.digest(marker), ending=marker[-4:]
        ),
        "loyalty.redemption": Redemption.objects.create(
            brand=brand,
            user_point=account,
            reward=reward,
            name=f"{marker} gift",
            cost=1,
            balance_after=0,
            code=codes.new(),
            request_key=uuid4(),
        ),
        "loyalty.walletissuer": wallets.apple(brand, identifier=f"pass.com.{marker}.card"),
        "loyalty.walletpass": passes.issue(account=account, platform="apple", at=timezone.now())[0],
        "loyalty.pointsapproval": PointsApproval.objects.create(
            brand=brand,
            kind="authcodes.product",
            row_id=product.pk,
            row_name=str(product),
            values={"redeem_point_value": 5000},
            requested_by=colleague,
        ),
        "authcodes.codeprefix": CodePrefix.objects.get(prefix=f"{marker}-"),
        "authcodes.product": product,
        "authcodes.batchrange": batch,
        "authcodes.authcode": batch.codes.get(),
        "authcodes.codechange": batch.changes.get(),
        "authcodes.recall": recalls.recall_batch(batch=recalled, at=timezone.now(), **recall_fields),
        "authcodes.withdrawnrecall": recalls.withdraw_recall(
            recall=recall, reason=f"{marker} safe", at=timezone.now(), by=colleague
        ),
        "authcodes.fakereport": FakeReport.objects.create(
            brand=brand,
            auth_code=batch.codes.get(),
            code=batch.codes.get().code,
            user=customer,
            place=f"{marker} shop",
            remark=f"{marker} remark",
            contact=f"{marker} contact",
        ),
        "authcodes.import": Import.objects.create(
            brand=brand, kind="list", file=f"{marker}.csv", file_name=f"{marker}.csv", uploaded_by=colleague
        ),
        "jobs.job": Job.objects.create(brand=brand, kind="generate", title=f"{marker} job", log=marker),
        "authcodes.labellayout": LabelLayout.objects.create(
            brand=brand, name=f"{marker} layout", label_width=70, label_height=30, parts=LAYOUT_PARTS, note=marker
        ),
        "authcodes.printer": Printer.objects.create(brand=brand, name=f"{marker} printer", scale="1.01"),
        "authcodes.printrun": run,
        "authcodes.scan": scan(batch.codes.get(), user=customer, location=f"{marker} town", device=f"{marker} phone"),
    }


def notifications(brand: Brand, customer: User, marker: str) -> dict[str, Model]:
    """The rows about notifications: settings, a template, a delivery, a sender domain and a suppressed address."""
    notification = Notification.objects.create(
        brand=brand, user=customer, template="NOTIFY_LEVEL_REACHED", key=f"{marker}:1"
    )
    fields = {
        "notification": notification,
        "brand": brand,
        "user": customer,
        "template": notification.template,
        "event_id": uuid.uuid4(),
    }
    address_fields = {"channel": "email", "language": "en", "masked_address": f"c•••@{marker}.example.com"}
    template_fields = {"template": "NOTIFY_LEVEL_REACHED", "channel": "email", "language": "en"}
    return {
        "loyalty.notificationsettings": NotificationSettings.objects.create(
            brand=brand, sender_name=f"{brand.name} news", is_active=False
        ),
        "loyalty.notificationtemplate": NotificationTemplate.objects.create(
            brand=brand, subject=marker, body=marker, **template_fields
        ),
        "loyalty.notificationdelivery": NotificationDelivery.objects.create(
            **fields, **address_fields, provider_id=marker
        ),
        "loyalty.senderdomain": SenderDomain.objects.create(
            brand=brand, domain=f"{marker}.example.com", token=marker[:32]
        ),
        "loyalty.suppressedaddress": SuppressedAddress.objects.create(
            brand=brand, channel="email", digest=marker, masked_address=address_fields["masked_address"], reason=marker
        ),
    }


def print_run_of(batch: Any, *, by: User | None = None, **request_fields: Any) -> PrintRun:
    """A requested print run of a whole batch; its job has not run."""
    return runs.start(
        selection=selection.of_range(full_range(batch)), print_request=PrintRequest(**request_fields), by=by
    )


def event(brand: Brand, **fields: Any) -> Event:
    defaults = {"source": "service.customer-app", "detail_type": "scan-auth", "status": "done", "detail": {}}
    return Event.objects.create(brand=brand, **{**defaults, **fields})


def scan(code: Any, **fields: Any) -> Scan:
    fields_of_code = {"brand": code.brand, "auth_code": code, "batch": code.batch, "product": code.product}
    defaults = {"code": code.code, "outcome": "success", "reason": "accepted", "points_status": "pending"}
    return Scan.objects.create(**{**fields_of_code, "campaign": code.batch.campaign, **defaults, **fields})


def links(page_text: str) -> set[str]:
    """The addresses within the portal that a page links to."""
    return set(re.findall(r'href="(/admin/[^"#]*)"', page_text))


def in_days(days: int) -> str:
    return (timezone.now() + timedelta(days=days)).date().isoformat()
