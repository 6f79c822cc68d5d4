"""Pauses, resumes and ends a campaign, each after a page with the consequences; replays past actions with one click."""

from functools import partial
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from campaigns import linked_batches
from campaigns.accrual import scopes
from campaigns.admin.campaign_form import problems_of
from campaigns.models.campaigns import Campaign
from campaigns.progress import lifecycle
from campaigns.progress.results import participants_of
from campaigns.replay import drafts, jobs
from core.errors import DomainError, Invalid
from core.numbers import grouped
from portal.base.confirmation import ConfirmedAction
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user
from portal.undo import offers

REPLAY_DAYS = 30
TITLES = {
    "pause": gettext_lazy("Pause campaign: %(campaign)s"),
    "resume": gettext_lazy("Resume campaign: %(campaign)s"),
    "end": gettext_lazy("End campaign: %(campaign)s"),
}
BUTTONS = {
    "pause": gettext_lazy("Pause campaign"),
    "resume": gettext_lazy("Resume campaign"),
    "end": gettext_lazy("End campaign now"),
}
LAUNCH = gettext_lazy("Launch campaign")
DONE = {"pause": gettext_lazy("Paused"), "resume": gettext_lazy("Resumed"), "end": gettext_lazy("Ended")}


def page_address(campaign_id: int) -> str:
    return reverse("admin:campaigns_campaign_page", args=[campaign_id])


class CampaignActs(TenantAdmin):
    """Part of the model admin of campaigns."""

    def changeable(self, request: HttpRequest, pk: int) -> Campaign:
        """The row, if the user may change it. Raises Http404, PermissionDenied."""
        campaign: Campaign = self.get_object(request, str(pk))
        if not self.has_change_permission(request, campaign):
            raise PermissionDenied
        return campaign

    def ask_about(self, request: HttpRequest, pk: int, *, name: str) -> HttpResponse:
        """Confirm on a page that lists the consequences and asks for a reason, then act."""
        campaign = self.changeable(request, pk)
        launches = name == "resume" and not lifecycle.was_launched(campaign, at=timezone.now())
        return ConfirmedAction(
            title=(_("Launch campaign: %(campaign)s") if launches else TITLES[name]) % {"campaign": campaign},
            paragraphs=[scopes.sentence(campaign)],
            consequences=consequences_of(campaign, name),
            button=LAUNCH if launches else BUTTONS[name],
            dangerous=name == "end",
            context={"back": page_address(campaign.pk)},
        ).respond(self, request, campaign, partial(self.acted, request, campaign.pk, name))

    def acted(self, request: HttpRequest, campaign_id: int, name: str, answers: dict[str, Any]) -> HttpResponse:
        """Change the state. Raises Invalid, which says why it is not possible."""
        campaign = lifecycle.locked(campaign_id)
        starts_at = campaign.starts_at
        self.remember(request, [campaign])
        if not lifecycle.act(campaign, name, at=timezone.now()):
            raise Invalid(_("Somebody has changed the campaign's state in the meantime. Go back to its page."))
        if problems := problems_of(campaign, step_before=campaign.step_by) if name == "resume" else {}:
            raise Invalid(" ".join(problems.values()))
        self.record_action(request, [campaign], DONE[name], reason=answers["reason"])
        if name == "end":  # cannot be undone
            self.message_user(request, f"{campaign}: {DONE[name]}", messages.SUCCESS)
        else:
            arguments = {"campaign": campaign.pk, "act": name, "starts_at": starts_at and starts_at.isoformat()}
            text = f"{campaign}: {DONE[name]}"
            offers.report_with_undo(request, text, "campaign", brand_id=campaign.brand_id, arguments=arguments)
        return redirect(page_address(campaign_id))

    def replay_month(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Start a job that replays the last days' actions; the page shows its progress, then its result."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        campaign = self.changeable(request, pk)
        self.start_replay(request, campaign)
        return redirect(page_address(pk))

    def start_replay(self, request: HttpRequest, campaign: Campaign) -> None:
        """Start the replay; an error is shown as a message."""
        try:
            with transaction.atomic():
                jobs.start(
                    brand=campaign.brand,
                    draft=drafts.of_campaign(campaign),
                    days=min(REPLAY_DAYS, jobs.max_days()),
                    by=staff_user(request),
                    at=timezone.now(),
                )
                self.record_action(request, [campaign], gettext_noop("Replayed past actions"))
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)


def plan_address(campaign_id: int) -> str:
    return reverse("admin:campaigns_campaign_plan", args=[campaign_id])


def consequences_of(campaign: Campaign, name: str) -> list[str]:
    """What stops, for how many members and codes, and what remains."""
    every, on_their_way = participants_of(campaign)
    if name == "resume":
        text = ngettext(
            "%(members)s member continues where they left off.",
            "%(members)s members continue where they left off.",
            on_their_way,
        )
        resumed = [text % {"members": grouped(on_their_way)}] if on_their_way else []
        if campaign.starts_at is not None and campaign.starts_at > timezone.now():
            begins = _("Scheduled. The campaign begins automatically on its first day.")
        else:
            begins = _("Actions count towards the campaign from now on. Actions in the meantime are not counted later.")
        return [begins, *resumed]
    text = ngettext(
        "%(members)s of %(every)s member who takes part has not reached the goal: they stop there.",
        "%(members)s of %(every)s members who take part have not reached the goal: they stop there.",
        every,
    )
    on_the_way = text % {"members": grouped(on_their_way), "every": grouped(every)}
    return [
        _("No actions count towards the campaign from now on."),
        on_the_way if every else _("Nobody takes part in it yet."),
        *linked_batches.terms_of(campaign),
        _("Earned rewards remain: members can still claim them, and tills still accept their codes."),
        _("You can resume it at any time.")
        if name == "pause"
        else _("To start the campaign again, change the end in its form."),
    ]
