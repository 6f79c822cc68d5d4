"""Page: what a draft would have given for past actions. A rule's own page starts a replay and shows the last one."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from campaigns.admin.replays.figures import ReplayFigures, period_of, signed
from campaigns.admin.replays.forms import DaysForm
from campaigns.admin.replays.starts import DraftReplayMixin
from campaigns.models.earning_rules import EarningRule
from campaigns.models.replays import Replay
from campaigns.replay import drafts, jobs
from core import languages
from portal.base.badges import badge
from portal.base.confirmation import ConfirmedAction
from portal.base.job_panel import COLOURS, job_context
from portal.base.sidebar import PROGRAMME, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user
from portal.import_export.downloads import as_attachment
from portal.lists.filters import DayFilter
from portal.unfold import ChoicesFilter, action, display


@admin.register(Replay)
class ReplayAdmin(DraftReplayMixin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "support": "view"}
    sidebar = SidebarEntry(PROGRAMME, 6, "history", tab=False)
    list_display = ("name", "kind", "period", "state", "difference", "created_by", "created_at")
    list_filter = (("kind", ChoicesFilter), ("created_at", DayFilter))
    list_select_related = ("brand", "job", "created_by")
    search_fields = ("name",)
    fieldsets = (
        (
            None,
            {"fields": ("brand", ("kind", "period"), ("rule", "campaign"), ("created_by", "created_at"), "expires_at")},
        ),
    )
    readonly_fields = ("period",)
    actions_list = ("replay_draft",)
    change_form_outer_before_template = "admin/campaigns/replay.html"

    def own_views(self) -> dict[str, Any]:
        return {"export": ("<id:pk>/export/", self.export), **super().own_views()}

    @display(description=gettext_lazy("period"))
    def period(self, replay: Replay) -> str:
        return period_of(replay)

    @display(description=gettext_lazy("state"))
    def state(self, replay: Replay) -> SafeString:
        if replay.result is not None:
            return badge("success", _("Done"))
        if replay.job is None:
            return badge("", _("Unknown"))
        return badge(COLOURS[replay.job.status], replay.job.get_status_display())

    @display(description=gettext_lazy("difference in points"))
    def difference(self, replay: Replay) -> str:
        if replay.result is None:
            return "-"
        total = ReplayFigures(replay, None).total
        return signed(total.tried - total.paid)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        replay = self.get_object(request, object_id)
        context: dict[str, Any] = {"replay": replay}
        if replay.result is not None:
            context["figures"] = ReplayFigures(replay, request.user)
            context["download"] = reverse("admin:campaigns_replay_export", args=[replay.pk])
        elif replay.job is not None:
            context["job"] = job_context(replay.job)
            context["job_address"] = reverse("admin:jobs_job_change", args=[replay.job_id])
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **context})

    def export(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The tables of a finished replay as CSV."""
        replay = self.get_object(request, str(pk))
        if replay.result is None:
            raise Http404
        with languages.in_english():
            content = ReplayFigures(replay, request.user).as_csv()
        answer = HttpResponse(content, content_type="text/csv; charset=utf-8")
        name = slugify(replay.name) or replay.kind
        return as_attachment(answer, f"replay-{replay.brand.slug}-{name}-{replay.pk}.csv")


class RuleReplays(TenantAdmin):
    """Part of the model admin of earning rules."""

    def has_replay_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        rule = self.addressed_row(request, object_id)
        return rule is not None and self.has_change_permission(request, rule)

    @action(description=gettext_lazy("Replay past actions"), url_path="replay", icon="history", permissions=["replay"])
    def replay(self, request: HttpRequest, object_id: str) -> HttpResponse:
        rule = self.get_object(request, object_id)
        requested = ConfirmedAction(
            title=_("Replay past actions: %(rule)s") % {"rule": rule},
            paragraphs=[
                _("A job decides each action of these days again: by the rules as they stood, and with this rule as it "
                  "is saved now, as if it had run all the time. Nobody gets or loses points."),
            ],
            form=DaysForm,
            button=_("Replay"),
        )  # fmt: skip

        def started(answers: dict[str, Any]) -> HttpResponse:
            made = jobs.start(
                brand=rule.brand,
                draft=drafts.of_rule(rule),
                days=answers["days"],
                by=staff_user(request),
                at=timezone.now(),
            )
            self.record_action(request, [rule], gettext_noop("Replayed past actions"))
            return redirect("admin:campaigns_replay_change", made.pk)

        return requested.respond(self, request, rule, started)

    def latest_replay_of(self, rule: EarningRule | None, user: Any) -> dict[str, Any]:
        """The last finished replay of the rule, as its page shows it to `user`."""
        if rule is None:
            return {}
        finished = Replay.objects.select_related("brand").filter(rule=rule, result__isnull=False)
        last = finished.order_by("-pk").first()
        if last is None:
            return {}
        return {"latest_replay": last, "latest_figures": ReplayFigures(last, user)}
