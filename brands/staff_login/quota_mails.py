"""Warns the owners of a brand by mail when one of its quotas runs out: the only code that writes QuotaMail."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from brands.models.people import StaffRole
from brands.models.quotas import QuotaMail
from brands.models.tenants import Brand
from brands.staff_login import mails
from brands.staff_login.models import StaffMail
from brands.tenants import quotas
from brands.tenants.quotas import Usage

AT_ONCE = 200  # brands whose usage is counted in one statement
# Codes and storage are not reset every day: while they stay above, owners get a mail once a week.
LASTING = {quotas.Resource.CODES: timedelta(days=7), quotas.Resource.STORAGE: timedelta(days=7)}
A_DAY = timedelta(days=1)
RETENTION = timedelta(days=30)


def send_due(*, at: datetime) -> int:
    """Warn of quotas that passed 80 % or are reached. Returns how many mails were written."""
    QuotaMail.objects.filter(day__lt=(at - RETENTION).astimezone(UTC).date()).delete()
    return sum(
        _warn(usage, at)
        for brands in chunks(Brand.objects.order_by("pk"))
        for of_brand in quotas.usage_of(brands)
        for usage in of_brand.usages
        if usage.is_near
    )


def chunks(brands: "QuerySet[Brand]") -> Iterator[list[Brand]]:
    last = 0
    while chunk := list(brands.filter(pk__gt=last)[:AT_ONCE]):
        yield chunk
        last = chunk[-1].pk


def _warn(usage: Usage, at: datetime) -> int:
    """Mail the owners, unless they were warned already. Of two concurrent calls, only one mails."""
    percent = 100 if usage.is_reached else quotas.NEAR_PERCENT
    today = at.astimezone(UTC).date()
    since = today - LASTING.get(usage.resource, A_DAY)
    quota: dict[str, Any] = {"brand": usage.brand, "resource": usage.resource.value}
    if QuotaMail.objects.filter(**quota, percent__gte=percent, day__gt=since).exists():
        return 0
    with transaction.atomic():
        _noted, is_new = QuotaMail.objects.get_or_create(**quota, percent=percent, day=today)
        if not is_new:
            return 0
        return len([mail(owner, usage) for owner in owners_of(usage.brand)])


def owners_of(brand: Brand) -> "QuerySet[StaffRole]":
    """The roles of the brand's owners who may log in."""
    owners = StaffRole.objects.filter(brand=brand, role=StaffRole.Role.OWNER)
    return owners.filter(user__is_active=True, user__is_staff=True).select_related("user").order_by("pk")


def mail(owner: StaffRole, usage: Usage) -> StaffMail:
    kind, brand_id = StaffMail.Kind.QUOTA, usage.brand.pk
    return mails.write(
        user=owner.user, kind=kind, origin=settings.PORTAL_URL, text=lambda: text_of(usage), brand_id=brand_id
    )


def text_of(usage: Usage) -> str:
    return _("%(brand)s uses %(percent)d %% of a quota. %(quota)s: %(used)s of %(limit)s.") % {
        "brand": usage.brand,
        "percent": usage.percent or 0,
        "quota": usage.name,
        "used": usage.used_text,
        "limit": usage.limit_text,
    }
