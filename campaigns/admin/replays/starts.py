"""The page on which staff choose the draft of a replay: a rule, levels or a campaign."""

from functools import partial
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from brands.identity import roles
from brands.identity.roles import CHANGE
from brands.models.tenants import Brand
from campaigns.admin.replays.forms import CampaignChoice, DraftForm, LevelsDraft, RuleChoice
from campaigns.models.replays import Replay
from campaigns.replay import jobs
from portal.base.confirmation import ConfirmedAction
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user
from portal.shell.brand_links import brand_links, brands_within, chosen_brand
from portal.unfold import action

Kind = Replay.Kind
# The model that a user must be allowed to change in order to replay with a draft of it.
PAGES: dict[str, str] = {
    Kind.RULE: "campaigns.earningrule",
    Kind.LEVELS: "loyalty.brandlevel",
    Kind.CAMPAIGN: "campaigns.campaign",
}
FORMS: dict[str, type[DraftForm]] = {Kind.RULE: RuleChoice, Kind.LEVELS: LevelsDraft, Kind.CAMPAIGN: CampaignChoice}
TEXTS: dict[str, Any] = {
    Kind.RULE: gettext_lazy(
        "A job decides each action of these days again: by the rules as they stood, and with this one among them. "
        "Nobody gets or loses points."
    ),
    Kind.LEVELS: gettext_lazy(
        "A job decides each action of these days again: as the levels stood, and with these. Members begin in the "
        "level that their lifetime points reach, and climb as they earn. Nobody gets or loses points."
    ),
    Kind.CAMPAIGN: gettext_lazy(
        "A job counts each action of these days towards the campaign, for everybody from the first day on. It shows "
        "who would have reached what, and what that would have given. Nobody gets or loses points."
    ),
}


class DraftReplayMixin(TenantAdmin):
    """Part of the model admin of replays."""

    def has_replay_permission(self, request: HttpRequest) -> bool:
        return any(roles.brand_scope(request.user, CHANGE, page) for page in PAGES.values())

    @action(description=gettext_lazy("Replay with a draft"), url_path="draft", icon="history", permissions=["replay"])
    def replay_draft(self, request: HttpRequest) -> HttpResponse:
        kind = request.GET.get("kind", Kind.RULE.value)
        if kind not in FORMS:
            raise Http404
        brands = brands_within(roles.brand_scope(request.user, CHANGE, PAGES[kind]))
        brand = chosen_brand(brands, request.GET.get("brand", ""))
        requested = ConfirmedAction(
            title=_("Replay past actions with a draft"),
            paragraphs=[TEXTS[kind]],
            form=partial(FORMS[kind], brand=brand, row=request.GET.get("row", "")),
            button=_("Replay"),
            template="admin/campaigns/replay_draft.html",
            context={
                "kinds": self._kinds(request, kind, brand),
                "brands": brand_links(brands, brand, partial(_address, kind)),
                "kind": kind,
            },
        )

        def started(answers: dict[str, Any]) -> HttpResponse:
            form = FORMS[kind](request.POST, brand=brand)
            form.is_valid()  # valid, as ConfirmedAction has checked
            draft = form.draft()
            made = jobs.start(brand=brand, draft=draft, days=answers["days"], by=staff_user(request), at=timezone.now())
            self.record_action(request, [made], gettext_noop("Replayed past actions"))
            return redirect("admin:campaigns_replay_change", made.pk)

        return requested.respond(self, request, None, started)

    def _kinds(self, request: HttpRequest, kind: str, brand: Brand) -> list[dict[str, Any]]:
        """The possible kinds of draft, with their addresses."""
        return [
            {"label": each.label, "address": _address(each, brand), "is_current": each == kind}
            for each in Kind
            if brand.pk in roles.brand_scope(request.user, CHANGE, PAGES[each])
        ]


def _address(kind: str, brand: Brand, row: str = "") -> str:
    query = {"kind": str(kind), "brand": str(brand.pk), **({"row": row} if row else {})}
    return f"{reverse('admin:campaigns_replay_replay_draft')}?{urlencode(query)}"


class CampaignReplays(TenantAdmin):
    """Part of the model admin of campaigns."""

    def has_replay_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        campaign = self.addressed_row(request, object_id)
        return campaign is not None and self.has_change_permission(request, campaign)

    @action(description=gettext_lazy("Replay past actions"), url_path="replay", icon="history", permissions=["replay"])
    def replay_campaign(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Redirect to the page that starts replays, with this campaign chosen."""
        campaign = self.get_object(request, object_id)
        return redirect(_address(Kind.CAMPAIGN, campaign.brand, str(campaign.pk)))
