"""The page of a campaign: state, figures, days, cost and time, and the available actions."""

from functools import partial
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from brands.identity import roles
from brands.identity.roles import VIEW
from campaigns.accrual import scopes
from campaigns.admin.campaign_page import figures
from campaigns.admin.campaign_page.acts import BUTTONS, LAUNCH, CampaignActs, page_address, plan_address
from campaigns.admin.campaign_page.replay_summary import replay_context
from campaigns.models.campaigns import Campaign
from campaigns.progress import lifecycle, saved_results
from campaigns.progress.lifecycle import State
from campaigns.progress.results import CampaignResults
from core.numbers import grouped
from portal.figures import cards
from portal.figures.cards import Card, percent_of
from portal.lists.changelist import CountedChangeList

PROGRESS, CLAIMS, REDEMPTIONS = "campaigns.userloyaltycampaign", "campaigns.rewardclaim", "loyalty.redemption"
COSTS, REPLAYS, BATCHES = "loyalty.pointcost", "campaigns.replay", "authcodes.batchrange"
ICONS = {"pause": "pause", "resume": "play_arrow", "end": "stop"}


class CampaignList(CountedChangeList):
    """A list that links to the pages of campaigns, not to their forms."""

    def url_for_result(self, result: Any) -> str:
        return page_address(result.pk)


class CampaignPages(CampaignActs):
    """Part of the model admin of campaigns."""

    def own_views(self) -> dict[str, Any]:
        return {
            "page": ("<id:pk>/page/", self.page),
            **{name: (f"<id:pk>/{name}/", partial(self.ask_about, name=name)) for name in BUTTONS},
            "replay_month": ("<id:pk>/replay-month/", self.replay_month),
            **super().own_views(),
        }

    def get_changelist(self, request: HttpRequest, **more: Any) -> type[CountedChangeList]:
        return CampaignList

    def response_post_save_add(self, request: HttpRequest, obj: Campaign) -> HttpResponseRedirect:
        return HttpResponseRedirect(page_address(obj.pk))

    def response_post_save_change(self, request: HttpRequest, obj: Campaign) -> HttpResponseRedirect:
        return HttpResponseRedirect(page_address(obj.pk))

    def page(self, request: HttpRequest, pk: int) -> HttpResponse:
        campaign: Campaign = self.get_object(request, str(pk))
        if not self.has_view_permission(request, campaign):
            raise PermissionDenied
        at = timezone.now()
        seen = {label: campaign.brand_id in roles.brand_scope(request.user, VIEW, label) for label in SEEN}
        state = lifecycle.state_of(campaign, at=at)
        may_change = self.has_change_permission(request, campaign)
        context: dict[str, Any] = {
            "title": str(campaign),
            "campaign": campaign,
            "sentence": scopes.sentence(campaign),
            "after": figures.after_the_end(campaign),
            "batches": self.rows(request, BATCHES, "campaign", campaign)
            if seen[BATCHES] and has_batches(campaign)
            else "",
            "edit": reverse("admin:campaigns_campaign_change", args=[pk]) if may_change else "",
            "duplicate": self.may_duplicate(request, campaign),
        }
        if seen[PROGRESS] and seen[CLAIMS]:
            results, counted_at = saved_results.latest(campaign, at=at)
            context |= {
                "cards": self.cards(request, campaign, results, sees_till=seen[REDEMPTIONS]),
                "milestones": figures.milestone_lines(campaign, results, at=at),
                "sees_till": seen[REDEMPTIONS],
                "budget": figures.budget_of(campaign, results, with_money=seen[COSTS]),
                "chart": figures.days_chart(campaign, results, at=at),
                "days": figures.day_lines(results),
                "counted_at": counted_at if counted_at != at else None,
                "claims": self.rows(request, CLAIMS, "milestone__campaign", campaign),
            }
        is_new = state is State.OFF and not lifecycle.was_launched(campaign, at=at)
        context["time"] = figures.time_line(campaign, is_new=is_new, at=at)
        context["badge"] = figures.state_badge(state, is_new=is_new)
        context["plan"] = plan_address(pk) if may_change and is_new else ""
        context["page_actions"] = self.page_actions(campaign, state, is_new=is_new) if may_change else []
        if seen[REPLAYS]:
            context |= replay_context(campaign, user=request.user, may_replay=may_change)
        with timezone.override(campaign.brand.zone):
            return self.render_page(request, "admin/campaigns/campaign/page.html", context).render()

    def may_duplicate(self, request: HttpRequest, campaign: Campaign) -> str:
        may = self.has_add_permission(request, campaign)
        return reverse("admin:campaigns_campaign_duplicate", args=[campaign.pk]) if may else ""

    def page_actions(self, campaign: Campaign, state: State, *, is_new: bool) -> list[dict[str, Any]]:
        """The actions that the state allows, with their button labels."""
        return [
            {
                "name": name,
                "label": LAUNCH if is_new and name == "resume" else BUTTONS[name],
                "icon": ICONS[name],
                "address": reverse(f"admin:campaigns_campaign_{name}", args=[campaign.pk]),
            }
            for name, states in lifecycle.ACTS.items()
            if state in states
        ]

    def rows(self, request: HttpRequest, label: str, way: str, campaign: Campaign, **more: Any) -> str:
        """The address of a list of rows that belong to the campaign."""
        return cards.address(request, label, {f"{way}__campaign_id__exact": campaign.pk, **more}) or ""

    def cards(
        self, request: HttpRequest, campaign: Campaign, results: CampaignResults, *, sees_till: bool
    ) -> list[Card]:
        reached = percent_of(results.reached, results.participants)
        claimed = results.claimed + results.waiting
        rounds = ngettext("%(times)s time in all", "%(times)s times in all", results.rounds)
        rounds %= {"times": grouped(results.rounds)}
        again = campaign.is_repeatable or results.rounds != results.reached
        result = [
            Card(
                _("Members taking part"),
                grouped(results.participants),
                _("%(members)s on their way to the goal") % {"members": grouped(results.in_progress)},
                link=self.rows(request, PROGRESS, "campaign", campaign) or None,
            ),
            Card(
                _("Reached the goal"),
                grouped(results.reached),
                rounds if again else _("of those who take part"),
                percent=reached if results.participants else None,
            ),
            Card(
                _("Rewards won"),
                grouped(claimed),
                _("%(waiting)s to be claimed") % {"waiting": grouped(results.waiting)},
                link=self.rows(request, CLAIMS, "milestone__campaign", campaign) or None,
            ),
        ]
        if sees_till:
            issued = sum(each.issued for each in results.milestones.values())
            note = ngettext("of %(issued)s code for the till", "of %(issued)s codes for the till", issued)
            note %= {"issued": grouped(issued)}
            percent = percent_of(results.used, issued) if issued else None
            result.append(Card(_("Used at the till"), grouped(results.used), note, percent=percent))
        return result


def has_batches(campaign: Any) -> bool:
    """Whether batches name the campaign. Batches belong to a higher app."""
    result: bool = campaign.batches.exists()
    return result


SEEN = (PROGRESS, CLAIMS, REDEMPTIONS, COSTS, REPLAYS, BATCHES)
