"""The portal as tests see it: a browser of somebody's, and a brand with one row of every kind in it."""

import re
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from authcodes import batches
from authcodes.models import Import, Job, Scan
from brands import keys
from brands.models import Brand, BrandHostname, Membership, User
from campaigns.models import RewardClaim, UserLoyaltyCampaign
from loyalty.models import Event, LoyaltyTransaction
from tests import make

LABELS = sorted(model._meta.label_lower for model in admin.site._registry)
READ_ONLY = [
    "authcodes.job",
    "authcodes.scan",
    "campaigns.rewardclaim",
    "campaigns.userloyaltycampaign",
    "loyalty.event",
    "loyalty.loyaltytransaction",
]


def page(label: str) -> Any:
    return next(found for model, found in admin.site._registry.items() if model._meta.label_lower == label)


def address(label: str, what: str = "changelist", *args: Any) -> str:
    return reverse(f"admin:{label.replace('.', '_')}_{what}", args=args)


def staff(*brands: Brand, role: str = "owner", **fields: Any) -> User:
    person = make.user(is_staff=True, **fields)
    for brand in brands:
        Membership.objects.create(user=person, brand=brand, role=role)
    return person


def browser(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def text(response: Any) -> str:
    content = b"".join(response.streaming_content) if response.streaming else response.content
    return content.decode()


def errors(response: Any) -> dict[str, list[str]]:
    """What the form of an answered page complains of."""
    found: dict[str, list[str]] = response.context["adminform"].form.errors
    return found


def form_of(response: Any) -> dict[str, Any]:
    """What a browser would send back unchanged: the values of a page's form and of the tables inside it."""
    forms = [response.context["adminform"].form]
    for table in response.context["inline_admin_formsets"]:
        forms += [table.formset.management_form, *table.formset.forms]
    sent = {}
    for form in forms:
        for bound in form:
            value = bound.value()
            if value is not None and value is not False:
                sent[bound.html_name] = value
    return sent


def brand_with_everything(marker: str) -> tuple[Brand, dict[str, Model]]:
    """A brand, and one row of each model that the portal shows; every word in them holds `marker`."""
    brand = make.brand(name=f"{marker} brand", slug=f"{marker}-brand", support_email=f"help@{marker}.example.com")
    BrandHostname.objects.filter(brand=brand).update(hostname=f"{marker}.example.com")
    colleague = staff(brand, email=f"colleague@{marker}.example.com")
    customer = make.customer(brand, email=f"customer@{marker}.example.com", first_name=f"{marker} first")
    account = make.account(customer, brand)
    campaign = make.campaign(brand, campaign_name=f"{marker} campaign")
    milestone = make.milestone(campaign, 1, reward_name=f"{marker} reward")
    product = make.product(brand, sku=f"{marker}-sku", title=f"{marker} product")
    batch = make.batch(
        brand,
        range_name=f"{marker} range",
        prefix=f"{marker}-",
        quantity=1,
        product=product,
        campaign=campaign,
    )
    recalled = make.batch(brand, range_name=f"{marker} recalled", prefix=f"{marker}R-", product=product)
    key, _ = keys.create(brand=brand, kind="hub", name=f"{marker} key", at=timezone.now())
    words = {"recall_id": f"{marker}-1", "contact": f"{marker} contact", "message": marker, "reason": marker}
    return brand, {
        "brands.brand": brand,
        "brands.user": customer,
        "brands.membership": Membership.objects.get(user=colleague),
        "brands.apikey": key,
        "campaigns.campaign": campaign,
        "campaigns.userloyaltycampaign": UserLoyaltyCampaign.objects.create(user=customer, campaign=campaign),
        "campaigns.rewardclaim": RewardClaim.objects.create(user=customer, milestone=milestone),
        "loyalty.brandlevel": make.level(brand, name=f"{marker} level"),
        "loyalty.earningrule": make.earning_rule(brand, "log-user-login"),
        "loyalty.userpoints": account,
        "loyalty.loyaltytransaction": LoyaltyTransaction.objects.create(
            user_point=account, points_earned=1, reason="earned", reason_id=f"{marker}:1", note=f"{marker} note"
        ),
        "loyalty.event": event(brand, source=f"{marker}.customer-app", detail={"payload": {"note": marker}}),
        "authcodes.product": product,
        "authcodes.batchrange": batch,
        "authcodes.authcode": batch.codes.get(),
        "authcodes.recall": batches.recall_batch(batch=recalled, at=timezone.now(), **words),
        "authcodes.import": Import.objects.create(
            brand=brand, kind="list", file=f"{marker}.csv", file_name=f"{marker}.csv", uploaded_by=colleague
        ),
        "authcodes.job": Job.objects.create(brand=brand, kind="generate", title=f"{marker} job", log=marker),
        "authcodes.scan": scan(batch.codes.get(), user=customer, location=f"{marker} town", device=f"{marker} phone"),
    }


def event(brand: Brand, **fields: Any) -> Event:
    plain = {"source": "loyalty.customer-app", "detail_type": "scan-auth", "status": "done", "detail": {}}
    return Event.objects.create(brand=brand, **{**plain, **fields})


def scan(code: Any, **fields: Any) -> Scan:
    about = {"brand": code.brand, "auth_code": code, "batch": code.batch, "product": code.product}
    plain = {"code": code.code, "outcome": "success", "reason": "accepted", "points_status": "pending"}
    return Scan.objects.create(**{**about, "campaign": code.batch.campaign, **plain, **fields})


def links(page_text: str) -> set[str]:
    """Where the links of a page lead, within the portal."""
    return set(re.findall(r'href="(/admin/[^"#]*)"', page_text))


def in_days(days: int) -> str:
    return (timezone.now() + timedelta(days=days)).date().isoformat()
