"""Alerts: what Home lists first, each with the page where it is resolved."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from authcodes.admin.home.list_links import EVENTS, QUOTAS, REPORTS, SCANS, Links
from authcodes.dashboard import needs
from authcodes.dashboard.needs import Need
from authcodes.fraud import code_runs
from authcodes.fraud.code_runs import CodeRun
from brands.identity import roles
from brands.identity.roles import ACT, VIEW
from brands.models.tenants import Brand
from brands.tenants import quotas, stopped_attempts
from core.numbers import grouped
from portal.base.tenant_scope import staff_user
from portal.lists.local_time import day_text, moment_text

MAX_ALERTS = 5
# Attempts stopped in a day from which an alert is shown; people mistype their passwords.
THRESHOLDS = {stopped_attempts.CODES: 1, stopped_attempts.LOGINS: 20}


@dataclass(frozen=True, slots=True)
class Alert:
    text: str
    link: str | None
    button: str
    is_urgent: bool = False
    second_link: str | None = None
    second_button: str = ""


class Alerts:
    """Alerts for the brands shown on Home. Each kind covers the brands whose rows the user may see."""

    def __init__(self, request: HttpRequest, brands: Sequence[Brand], links: Links) -> None:
        self.request, self.brands, self.links = request, brands, links
        self.by_id = {brand.pk: brand for brand in brands}
        self.now = timezone.now()

    def visible_brands(self, verb: str, label: str) -> list[Brand]:
        within = roles.brand_scope(self.request.user, verb, label)
        return [brand for brand in self.brands if brand.pk in within]

    def all(self) -> list[Alert]:
        """All alerts, urgent ones first."""
        result = [*self.of_needs(), *self.of_code_runs(), *self.of_stopped_attempts(), *self.of_quotas()]
        return sorted(result, key=lambda alert: not alert.is_urgent)

    def of_needs(self) -> list[Alert]:
        verbs = {"approvals": ACT}
        of = {name: self.visible_brands(verbs.get(name, VIEW), label) for name, label in needs.LABELS.items()}
        rows = needs.needs(of=of, by=staff_user(self.request).pk, at=self.now)
        return [getattr(self, f"of_{row.kind}")(row, self.by_id[row.brand_id]) for row in rows]

    def of_recall(self, row: Need, _brand: Brand) -> Alert:
        link = reverse("admin:authcodes_recall_change", args=[row.row_id])
        if row.number:
            text = _("Recall %(name)s: customers who scanned its codes have not been notified.")
            return Alert(text % {"name": row.name}, link, _("Notify them"), is_urgent=True)
        text = _("Recall %(name)s: some customers could not be reached.")
        return Alert(text % {"name": row.name}, link, _("See these customers"), is_urgent=True)

    def of_event(self, row: Need, brand: Brand) -> Alert:
        text = ngettext(
            "%(number)s event of %(brand)s failed permanently.",
            "%(number)s events of %(brand)s failed permanently.",
            row.number,
        )
        link = self.links.address(EVENTS, {"status__exact": "dead"})
        return Alert(
            text % {"number": grouped(row.number), "brand": brand}, link, _("Review and retry"), is_urgent=True
        )

    def of_webhook(self, row: Need, brand: Brand) -> Alert:
        text = (
            _("Webhook %(name)s of %(brand)s was switched off: its receiver failed.")
            if row.number
            else _("Webhook %(name)s of %(brand)s has been failing for more than an hour.")
        )
        link = reverse("admin:loyalty_webhookendpoint_change", args=[row.row_id])
        return Alert(text % {"name": row.name, "brand": brand}, link, _("Review"), is_urgent=bool(row.number))

    def of_certificate(self, row: Need, brand: Brand) -> Alert:
        text = (
            _("The wallet certificate %(name)s has expired. Passes are no longer updated.")
            if row.number
            else _("The wallet certificate %(name)s expires on %(day)s.")
        )
        link = reverse("admin:loyalty_walletissuer_change", args=[row.row_id])
        day = self.day(row, brand)
        return Alert(text % {"name": row.name, "day": day}, link, _("Replace it"), is_urgent=bool(row.number))

    def of_batch(self, row: Need, brand: Brand) -> Alert:
        at = timezone.localtime(row.at, brand.zone) - timedelta(seconds=1) if row.at else None
        text = ngettext(
            "Batch %(name)s with its %(number)s code expires at the end of %(day)s.",
            "Batch %(name)s with its %(number)s codes expires at the end of %(day)s.",
            row.number,
        )
        values = {"name": row.name, "number": grouped(row.number), "day": day_text(at) if at else ""}
        return Alert(
            text % values, reverse("admin:authcodes_batchrange_change", args=[row.row_id]), _("Open the batch")
        )

    def of_stock(self, row: Need, _brand: Brand) -> Alert:
        text = _("%(name)s: %(number)s left in stock.")
        if not row.number:
            text = _("%(name)s is out of stock.")
        link = reverse("admin:loyalty_reward_change", args=[row.row_id])
        return Alert(text % {"name": row.name, "number": row.number}, link, _("Restock"), is_urgent=not row.number)

    def of_campaign(self, row: Need, brand: Brand) -> Alert:
        text = _("Campaign %(name)s ends on %(day)s.") % {"name": row.name, "day": self.day(row, brand)}
        link = reverse("admin:campaigns_campaign_page", args=[row.row_id])
        return Alert(text, link, _("Open the campaign"))

    def of_report(self, row: Need, _brand: Brand) -> Alert:
        text = ngettext(
            "%(number)s customer reports a suspected fake.",
            "%(number)s reports of suspected fakes are open.",
            row.number,
        )
        link = self.links.address(REPORTS, {"state__exact": "open"})
        return Alert(text % {"number": grouped(row.number)}, link, _("See the reports"))

    def of_approval(self, row: Need, _brand: Brand) -> Alert:
        text = ngettext(
            "%(number)s request for points above the ceiling waits for your decision.",
            "%(number)s requests for points above the ceiling wait for your decision.",
            row.number,
        )
        link = f"{reverse('admin:loyalty_pointsapproval_changelist')}?status__exact=pending"
        return Alert(text % {"number": grouped(row.number)}, link, _("Decide"))

    def day(self, row: Need, brand: Brand) -> str:
        return moment_text(row.at, brand.zone) if row.at else ""

    # --- Watched by other parts of the system -------------------------------------------------------------------

    def of_code_runs(self) -> Iterator[Alert]:
        """Neighbouring codes of plain batches that were scanned in a row: someone may be counting on."""
        brands = {brand.pk: brand for brand in self.visible_brands(VIEW, SCANS)}
        text = _(
            "%(brand)s: %(codes)d neighbouring codes of %(batch)s were scanned in a row (%(first)s to %(last)s). "
            "Someone may be guessing codes, or a shop has opened a carton."
        )
        for run in code_runs.newest_runs(list(brands)):
            brand = brands[run.brand_id]
            values = {"brand": brand, "codes": run.codes, "batch": run.batch}
            result = text % {**values, "first": run.first_code, "last": run.last_code}
            yield Alert(result, self.scans_of(run, brand), _("See these scans"), is_urgent=True)

    def scans_of(self, run: CodeRun, brand: Brand) -> str | None:
        days = {"scanned_at_from": run.first_at, "scanned_at_to": run.last_at}
        on = {name: str(brand.day_at(at)) for name, at in days.items()}
        return self.links.address(SCANS, {"batch__id__exact": run.batch_id, **on})

    def of_stopped_attempts(self) -> list[Alert]:
        """Attempts at codes or logins that were stopped today (UTC), for brands whose quotas the user may see."""
        brands = self.visible_brands(VIEW, QUOTAS)
        numbers = stopped_attempts.today([brand.pk for brand in brands])
        texts: dict[str, Any] = {
            stopped_attempts.CODES: _(
                "%(brand)s: %(number)s code attempts were stopped today (UTC). Someone is trying more codes than "
                "customers normally do."
            ),
            stopped_attempts.LOGINS: _(
                "%(brand)s: %(number)s customer logins were stopped today (UTC). Someone is trying passwords."
            ),
        }
        stopped = [
            (numbers[brand.pk, kind], brand, kind)
            for brand in brands
            for kind in stopped_attempts.KINDS
            if numbers.get((brand.pk, kind), 0) >= THRESHOLDS[kind]
        ]
        month = reverse("admin:brands_stoppedattempts_changelist")
        unknown = self.links.address(SCANS, {"reason__exact": "unknown"}) if stopped else None
        return [
            Alert(
                texts[kind] % {"brand": brand, "number": grouped(number)},
                month,
                _("See the last 30 days"),
                second_link=unknown if kind == stopped_attempts.CODES else None,
                second_button=_("See the scans of unknown codes"),
            )
            for number, brand, kind in sorted(stopped, key=lambda each: -each[0])[:MAX_ALERTS]
        ]

    def of_quotas(self) -> list[Alert]:
        """Quotas that are nearly or fully used."""
        of_brands = quotas.usage_of(self.visible_brands(VIEW, QUOTAS))
        usages = [usage for each in of_brands for usage in each.usages if usage.is_near]
        text = _("Quota of %(brand)s, %(resource)s: %(used)s of %(limit)s used (%(percent)s %%).")
        return [
            Alert(
                text
                % {
                    "brand": usage.brand,
                    "resource": usage.name,
                    "used": usage.used_text,
                    "limit": usage.limit_text,
                    "percent": usage.percent,
                },
                reverse("admin:brands_brandquota_changelist"),
                _("See all quotas"),
                is_urgent=usage.is_reached,
            )
            for usage in sorted(usages, key=lambda usage: -(usage.percent or 0))[:MAX_ALERTS]
        ]
