"""Budgets of rules and campaigns: the total that they have given.

write_accruals.sql alone counts them; this module locks them, and notifies owners when one is used up.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Min, Q, QuerySet, Window
from django.db.models.functions import RowNumber
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from brands.models.tenants import Brand
from brands.staff_login import mails, quota_mails
from brands.staff_login.models import StaffMail
from campaigns.models.campaigns import Campaign, CampaignBudgetUse
from campaigns.models.earning_rules import EarningRule, EarningRuleBudgetUse
from core.numbers import grouped, plural_number

AT_ONCE = 200
MAX_PER_DAY = 20  # budgets of a brand about which its owners are notified within a day


def lock(rule_ids: Sequence[int]) -> None:
    """Lock these budgets, in the order of the rules, until the transaction ends. Lock the account before."""
    if rule_ids:
        rows = EarningRuleBudgetUse.objects.filter(rule__in=rule_ids).order_by("rule_id")
        list(rows.select_for_update(no_key=True).values_list("rule_id"))


def lock_campaigns(campaign_ids: Sequence[int]) -> None:
    """As lock, for campaigns, in their order. Call after locking the budgets of rules."""
    if campaign_ids:
        rows = CampaignBudgetUse.objects.filter(campaign__in=campaign_ids).order_by("campaign_id")
        list(rows.select_for_update(no_key=True).values_list("campaign_id"))


def notify_used_up(*, at: datetime) -> int:
    """Mail the owners of brands whose rules or campaigns have used up a budget, once for each budget.

    Each brand's oldest come first, at most MAX_PER_DAY within a day; the others wait, so that one brand with many
    budgets does not delay other brands' mails. Returns how many budgets were reported.
    """
    of_brands = _notified_since(at - timedelta(days=1))
    full = [brand_id for brand_id, number in of_brands.items() if number >= MAX_PER_DAY]
    rules = EarningRuleBudgetUse.objects.filter(used_up_at__isnull=False, notified_at__isnull=True)
    rules = rules.exclude(rule__brand__in=full)
    campaigns = used_up_campaigns().exclude(brand__in=full)
    waiting: list[tuple[Callable[[int, datetime], int], int, int]] = [
        *((_notify_of_rule, *row) for row in _in_turns(rules, "rule__brand", "used_up_at")),
        *((_notify_of_campaign, *row) for row in _in_turns(campaigns, "brand", "campaign_id")),
    ]
    notified = 0
    for notify, budget, brand_id in waiting:
        if of_brands[brand_id] < MAX_PER_DAY and notify(budget, at):
            of_brands[brand_id] += 1
            notified += 1
    return notified


def _notified_since(moment: datetime) -> Counter[int]:
    """How many budgets each brand's owners were notified about since then."""
    rules = EarningRuleBudgetUse.objects.filter(notified_at__gt=moment).values_list("rule__brand", flat=True)
    campaigns = CampaignBudgetUse.objects.filter(notified_at__gt=moment).values_list("brand", flat=True)
    return Counter([*rules, *campaigns])


def _in_turns(waiting: QuerySet[Any], brand: str, order: str) -> list[tuple[int, int]]:
    """The next budgets with their brands: the first one of each brand, then the second one of each."""
    turn = Window(RowNumber(), partition_by=brand, order_by=[order, "pk"])
    return list(waiting.annotate(turn=turn).order_by("turn", order).values_list("pk", brand)[:AT_ONCE])


def used_up_campaigns() -> QuerySet[CampaignBudgetUse]:
    """Budgets without a notification yet, in which too little is left for any milestone that pays points."""
    pays = Q(campaign__milestones__reward_points__gt=0)
    rows = CampaignBudgetUse.objects.filter(notified_at__isnull=True, campaign__budget__isnull=False)
    with_least = rows.annotate(least=Min("campaign__milestones__reward_points", filter=pays))
    return with_least.filter(least__isnull=False, campaign__budget__lt=F("points") + F("least"))


def _notify_of_campaign(campaign_id: int, at: datetime) -> int:
    """As _notify_of_rule, for a campaign."""
    with transaction.atomic():
        if not CampaignBudgetUse.objects.filter(campaign=campaign_id, notified_at__isnull=True).update(notified_at=at):
            return 0
        campaign = Campaign.objects.select_related("brand", "budget_use").get(pk=campaign_id)
        path = reverse("admin:campaigns_campaign_change", args=[campaign_id])
        _mail(campaign.brand, StaffMail.Kind.CAMPAIGN_BUDGET, lambda: _text_of_campaign(campaign), path)
    return 1


def _text_of_campaign(campaign: Campaign) -> str:
    paid = campaign.budget_use.points
    message = ngettext(
        "%(brand)s: the campaign “%(campaign)s” has paid %(points)s point, and its budget is used up.",
        "%(brand)s: the campaign “%(campaign)s” has paid %(points)s points, and its budget is used up.",
        plural_number(paid),
    )
    return message % {"brand": campaign.brand, "campaign": campaign, "points": grouped(paid.normalize())}


def _notify_of_rule(rule_id: int, at: datetime) -> int:
    """Notify unless another process has recorded the notification already. Returns the number of budgets reported."""
    with transaction.atomic():
        if not EarningRuleBudgetUse.objects.filter(rule=rule_id, notified_at__isnull=True).update(notified_at=at):
            return 0
        rule = EarningRule.objects.select_related("brand", "budget_use").get(pk=rule_id)
        path = reverse("admin:campaigns_earningrule_change", args=[rule.pk])
        _mail(rule.brand, StaffMail.Kind.BUDGET, lambda: _text_of_rule(rule), path)
    return 1


def _text_of_rule(rule: EarningRule) -> str:
    amount, events = rule.budget_use.points, rule.budget_use.events
    points = ngettext("%(points)s point", "%(points)s points", plural_number(amount))
    times = ngettext("%(times)s time", "%(times)s times", events)
    return _("%(brand)s: the rule “%(rule)s” has given %(points)s, %(times)s.") % {
        "brand": rule.brand,
        "rule": rule,
        "points": points % {"points": grouped(amount.normalize())},
        "times": times % {"times": grouped(events)},
    }


def _mail(brand: Brand, kind: StaffMail.Kind, text: Callable[[], str], path: str) -> None:
    for owner in quota_mails.owners_of(brand):
        origin = settings.PORTAL_URL
        mails.write(user=owner.user, kind=kind, origin=origin, text=text, path=path, brand_id=brand.pk)
