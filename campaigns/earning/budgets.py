"""Budgets of rules and of campaigns: what they have given in all.

Counted by write_accruals.sql alone; here they are locked, and owners hear when one is used up.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import F, Min, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from brands.models.tenants import Brand
from brands.staff_login import mails, quota_mails
from brands.staff_login.models import StaffMail
from campaigns.models.campaigns import Campaign, CampaignBudget
from campaigns.models.earning_rules import EarningRule, EarningRuleBudget
from core.numbers import grouped

AT_ONCE = 200


def lock(rule_ids: Sequence[int]) -> None:
    """Nobody else takes of these budgets until the transaction ends. After the account, in the order of the rules."""
    if rule_ids:
        rows = EarningRuleBudget.objects.filter(rule__in=rule_ids).order_by("rule_id")
        list(rows.select_for_update(no_key=True).values_list("rule_id"))


def lock_campaigns(campaign_ids: Sequence[int]) -> None:
    """As lock, after the budgets of rules and in the order of the campaigns."""
    if campaign_ids:
        rows = CampaignBudget.objects.filter(campaign__in=campaign_ids).order_by("campaign_id")
        list(rows.select_for_update(no_key=True).values_list("campaign_id"))


def notify_used_up(*, at: datetime) -> int:
    """Mail the owners of brands whose rules or campaigns have given all that there was, once for each budget.

    Returns how many.
    """
    waiting = EarningRuleBudget.objects.filter(used_up_at__isnull=False, notified_at__isnull=True)
    rule_ids = waiting.order_by("used_up_at").values_list("rule_id", flat=True)[:AT_ONCE]
    campaign_ids = used_up_campaigns().order_by("campaign_id").values_list("campaign_id", flat=True)[:AT_ONCE]
    return sum(_notify(rule_id, at) for rule_id in rule_ids) + sum(_notify_of(each, at) for each in campaign_ids)


def used_up_campaigns() -> QuerySet[CampaignBudget]:
    """Those of which nobody was told whose budgets have too little left for any milestone that pays."""
    pays = Q(campaign__milestones__reward_points__gt=0)
    rows = CampaignBudget.objects.filter(notified_at__isnull=True, campaign__budget__isnull=False)
    with_least = rows.annotate(least=Min("campaign__milestones__reward_points", filter=pays))
    return with_least.filter(least__isnull=False, campaign__budget__lt=F("points") + F("least"))


def _notify_of(campaign_id: int, at: datetime) -> int:
    """As _notify, of a campaign."""
    with transaction.atomic():
        if not CampaignBudget.objects.filter(campaign=campaign_id, notified_at__isnull=True).update(notified_at=at):
            return 0
        campaign = Campaign.objects.select_related("brand", "spent").get(pk=campaign_id)
        path = reverse("admin:campaigns_campaign_change", args=[campaign_id])
        _mail(campaign.brand, lambda: _text_of_campaign(campaign), path)
    return 1


def _text_of_campaign(campaign: Campaign) -> str:
    return _("%(brand)s: the campaign “%(campaign)s” has paid %(points)s points, and its budget is used up.") % {
        "brand": campaign.brand,
        "campaign": campaign,
        "points": grouped(campaign.spent.points.normalize()),
    }


def _notify(rule_id: int, at: datetime) -> int:
    """Who loses the race to note it down mails nothing."""
    with transaction.atomic():
        if not EarningRuleBudget.objects.filter(rule=rule_id, notified_at__isnull=True).update(notified_at=at):
            return 0
        rule = EarningRule.objects.select_related("brand", "budget").get(pk=rule_id)
        path = reverse("admin:campaigns_earningrule_change", args=[rule.pk])
        _mail(rule.brand, lambda: _text_of_rule(rule), path)
    return 1


def _text_of_rule(rule: EarningRule) -> str:
    return _("%(brand)s: the rule “%(rule)s” has given %(points)s points, %(events)s times.") % {
        "brand": rule.brand,
        "rule": rule,
        "points": grouped(rule.budget.points.normalize()),
        "events": grouped(rule.budget.events),
    }


def _mail(brand: Brand, text: Callable[[], str], path: str) -> None:
    for owner in quota_mails.owners_of(brand):
        kind, origin = StaffMail.Kind.BUDGET, settings.PORTAL_URL
        mails.write(user=owner.user, kind=kind, origin=origin, text=text, path=path, brand_id=brand.pk)
