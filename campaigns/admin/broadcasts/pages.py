"""Page: broadcasts to the members of a segment, from draft and preview to sending and figures."""

from functools import partial
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.forms.widgets import Script
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from brands.identity.roles import ACT
from campaigns.admin.broadcasts import answers
from campaigns.admin.broadcasts.form import TEXT_FIELDS, BroadcastForm
from campaigns.admin.form_pages import FormPages
from campaigns.broadcasts import audience, figures, lifecycle
from core.errors import DomainError
from core.numbers import grouped
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.models.notifications import Channel, Language, Template
from loyalty.notifications import catalogue, rendering, test_sends
from loyalty.notifications.segments import broadcasts
from loyalty.notifications.segments.broadcasts import PARAMETER
from portal.base.confirmation import ConfirmedAction
from portal.base.job_panel import in_readers_language, job_context
from portal.base.sidebar import MESSAGES, SidebarEntry
from portal.base.tenant_scope import staff_user
from portal.lists.filters import DayFilter
from portal.unfold import ChoicesFilter, display

State = Broadcast.State
LANGUAGE_SECTIONS: tuple[Any, ...] = tuple(
    (Language(language).label, {"fields": tuple(names)}) for language, names in TEXT_FIELDS.items()
)


@admin.register(Broadcast)
class BroadcastAdmin(FormPages):
    role_permissions: ClassVar = {"owner": "view add change delete act", "manager": "view add change delete act"}
    sidebar = SidebarEntry(MESSAGES, 2, "campaign")
    form = BroadcastForm
    list_display = ("name", "recipients", "status", "members", "reached", "send_at", "created_at")
    list_filter = (("state", ChoicesFilter), ("created_at", DayFilter))
    list_select_related = ("segment",)
    search_fields = ("name",)
    readonly_fields = ("status", "recipients", "sent_by", "started_at", "finished_at", "created_at", "by_channels")
    change_form_outer_before_template = "admin/campaigns/broadcast_panel.html"
    change_form_outer_after_template = "admin/campaigns/broadcast_draft.html"
    fieldsets = (
        (None, {"fields": ("brand", "name", "segment", "channels", "send_at", "texts_opened")}),
        *LANGUAGE_SECTIONS,
    )
    sent_fieldsets = (
        (None, {"fields": ("brand", "name", "recipients", "by_channels", "send_at")}),
        (gettext_lazy("History"), {"fields": (("sent_by", "created_at"), ("started_at", "finished_at"))}),
    )

    class Media:
        js = (Script("campaigns/broadcast.js", type="module"),)

    def own_views(self) -> dict[str, Any]:
        return {
            "send": ("<id:pk>/send/", self.send),
            "back_to_draft": ("<id:pk>/back-to-draft/", self.back_to_draft),
            "cancel": ("<id:pk>/cancel/", self.cancel),
            "preview": ("<id:pk>/preview/", self.preview),
            "read": ("read/", self.read),
            **super().own_views(),
        }

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fieldsets if obj is None or self.has_change_permission(request, obj) else self.sent_fieldsets

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A planned or sent broadcast cannot be changed."""
        return super().has_change_permission(request, obj) and (obj is None or obj.state == State.DRAFT)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and (obj is None or obj.state == State.DRAFT)

    def create(self, request: HttpRequest, obj: Broadcast, form: Any) -> Broadcast:
        obj.created_by = staff_user(request)
        lifecycle.save(obj)
        return obj

    def store(self, obj: Broadcast, fields: set[str]) -> None:
        lifecycle.save(obj)

    def response_add(self, request: HttpRequest, obj: Broadcast, post_url_continue: Any = None) -> HttpResponse:
        """Redirect to the broadcast's page, where it is previewed and sent."""
        if "_addanother" in request.POST:
            return super().response_add(request, obj, post_url_continue)
        message = _("Saved as a draft. Nothing is sent yet: check the preview, then send it from this page.")
        self.message_user(request, message, messages.SUCCESS)
        return redirect("admin:loyalty_broadcast_change", obj.pk)

    # --- Columns and context

    @display(description=gettext_lazy("recipients"))
    def recipients(self, broadcast: Broadcast) -> str:
        return answers.recipients_of(broadcast)

    @display(description=gettext_lazy("state"), ordering="state")
    def status(self, broadcast: Broadcast) -> SafeString:
        return answers.state_badge(broadcast)

    @display(description=gettext_lazy("reached"))
    def reached(self, broadcast: Broadcast) -> str:
        """The stored figure of a broadcast that is over. The page of a single broadcast counts."""
        return grouped(broadcast.figures["reached"]) if broadcast.figures else "-"

    @display(description=gettext_lazy("channels"))
    def by_channels(self, broadcast: Broadcast) -> str:
        return ", ".join(str(Channel(each).label) for each in broadcast.channels) or "-"

    def form_context(self, request: HttpRequest, row: Broadcast | None) -> dict[str, Any]:
        return {**self.draft_context(request, row), **(self.panel_context(request, row) if row else {})}

    def draft_context(self, request: HttpRequest, row: Broadcast | None) -> dict[str, Any]:
        """The address where the page's script gets audience and preview; empty without permission to write."""
        if not self.may_save(request, row):
            return {}
        brand = self.brand_of_form(request, row)
        return {"read_address": reverse("admin:loyalty_broadcast_read"), "read_brand": brand, "names": answers.names()}

    def panel_context(self, request: HttpRequest, row: Broadcast) -> dict[str, Any]:
        """The figures so far, and the available actions."""
        addresses = {}
        counted = figures.latest(row) if row.started_at else None
        if self.may(request, ACT, row):
            under_way = row.state in (State.SENDING, State.FAILED)
            acts = {
                "send": row.state in lifecycle.STARTABLE,
                "back_to_draft": row.state == State.PLANNED,
                "cancel": under_way or (row.state == State.SENT and (counted is None or counted.waiting > 0)),
            }
            addresses = {name: self.address(name, row) for name, offered in acts.items() if offered}
        context: dict[str, Any] = {
            "broadcast": row,
            "problem": in_readers_language(row.problem),
            "badge": answers.state_badge(row),
            "addresses": addresses,
            "preview_address": f"{self.address('preview', row)}?{urlencode(answers.first_preview(row))}",
        }
        if row.started_at:
            query = urlencode({"notification__key": row.key})
            context["figures"] = answers.figure_lines(counted)
            context["log_address"] = f"{reverse('admin:loyalty_notificationdelivery_changelist')}?{query}"
        if row.job and row.job.is_unfinished:
            context["job"] = job_context(row.job)
        return context

    def address(self, name: str, row: Broadcast) -> str:
        return reverse(f"admin:loyalty_broadcast_{name}", args=[row.pk])

    # --- Answers to the script

    def read(self, request: HttpRequest) -> HttpResponse:
        """For an unsaved form: how many members each channel reaches, and the preview in one language."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        brand = self.brand_edited(request, request.POST.get("brand", ""))
        form = BroadcastForm(request.POST, instance=Broadcast(brand=brand))
        for name in ("segment", *answers.LEFT_OUT):
            form.fields.pop(name, None)
        form.full_clean()
        return JsonResponse(
            {
                "audience": answers.audience_lines(
                    brand=brand,
                    segment=answers.segment_chosen(brand, request.POST.get("segment", "")),
                    channels=form.cleaned_data.get("channels", []),
                    at=timezone.now(),
                ),
                **answers.draft(brand, form.typed_texts(), form.cleaned_data.get("channels", []), request.POST),
            }
        )

    # --- Actions

    def allowed(self, request: HttpRequest, pk: int) -> Broadcast:
        """The row, if the user may send it. Raises Http404, PermissionDenied."""
        row: Broadcast = self.get_object(request, str(pk))
        if not self.may(request, ACT, row):
            raise PermissionDenied
        return row

    def send(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Confirm on a page that shows the number of members, then send."""
        row = self.allowed(request, pk)
        counted = audience.count(brand=row.brand, segment=row.segment, channels=row.channels)
        with timezone.override(row.brand.zone):
            return ConfirmedAction(
                title=_("Send “%(name)s”?") % {"name": row},
                paragraphs=answers.before_sending(row, counted, at=timezone.now()),
                form=forms.Form,
                button=answers.send_button(row, counted),
                cancel=_("Go back"),
            ).respond(self, request, row, partial(self.sent, request, row))

    def sent(self, request: HttpRequest, row: Broadcast, _answers: dict[str, Any]) -> None:
        made = lifecycle.send(broadcast=row, by=staff_user(request), at=timezone.now())
        planned = made.state == State.PLANNED
        self.record_action(request, [made], gettext_noop("Planned") if planned else gettext_noop("Sent"))
        self.message_user(
            request,
            _("Planned. Sending begins automatically.") if planned else _("Sending. This page shows the progress."),
            messages.SUCCESS,
        )

    def back_to_draft(self, request: HttpRequest, pk: int) -> HttpResponse:
        row = self.allowed(request, pk)
        action = ConfirmedAction(
            title=_("Move “%(name)s” back to draft?") % {"name": row},
            paragraphs=[_("It becomes a draft again, and is not sent.")],
            form=forms.Form,
            button=_("Move back to draft"),
            cancel=_("Go back"),
        )

        def taken_back(_answers: dict[str, Any]) -> None:
            lifecycle.back_to_draft(broadcast=row)
            self.record_action(request, [row], gettext_noop("Move back to draft"))

        return action.respond(self, request, row, taken_back)

    def cancel(self, request: HttpRequest, pk: int) -> HttpResponse:
        row = self.allowed(request, pk)
        action = ConfirmedAction(
            title=_("Cancel “%(name)s”?") % {"name": row},
            paragraphs=[
                _(
                    "Messages that no channel has accepted yet are not sent. Members who have received the "
                    "broadcast keep it."
                ),
                _("A broadcast that was cancelled cannot be sent again."),
            ],
            form=forms.Form,
            button=_("Cancel broadcast"),
            dangerous=True,
            cancel=_("Go back"),
        )

        def cancelled(_answers: dict[str, Any]) -> None:
            spared = lifecycle.cancel(broadcast=row, at=timezone.now())
            self.record_action(request, [row], gettext_noop("Cancelled"))
            text = ngettext(
                "Cancelled: %(many)s message was stopped.", "Cancelled: %(many)s messages were stopped.", spared
            )
            self.message_user(request, text % {"many": grouped(spared)})

        return action.respond(self, request, row, cancelled)

    def preview(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show a preview in a language and for a channel, with sample data. POST sends it to the user as a test."""
        row: Broadcast = self.get_object(request, str(pk))
        values = request.POST if request.method == "POST" else request.GET
        channel, language = values.get("channel", ""), values.get("language", "")
        languages = broadcasts.languages_of(row.texts)
        if channel not in row.channels or language not in languages:
            raise Http404
        here = partial(answers.preview_address, self.address("preview", row))
        if request.method == "POST":
            self.test(self.allowed(request, pk), request, channel, language)
            return redirect(here(channel, language))
        composed = rendering.compose(
            rendering.sample(row.brand, Template.BROADCAST.value, channel, language),
            broadcasts.message_text(row.texts, channel=channel, language=language),
        )
        context = {
            "original": row,
            "title": f"{row}: {Channel(channel).label}, {Language(language).label}",
            "composed": composed,
            "direction": catalogue.direction(language),
            "selected": {"channel": channel, "language": language},
            "is_own": True,
            "channel": channel,
            "languages": [(Language(each).label, here(channel, each), each == language) for each in languages],
            "channels": [(Channel(each).label, here(each, language), each == channel) for each in row.channels],
            "edit_address": reverse("admin:loyalty_broadcast_change", args=[row.pk]),
            "may_send": self.may(request, ACT, row),
            "my_address": staff_user(request).email,
        }
        return self.render_page(request, "admin/loyalty/notifications/preview.html", context)

    def test(self, row: Broadcast, request: HttpRequest, channel: str, language: str) -> None:
        try:
            test_sends.send(
                brand=row.brand,
                to=staff_user(request),
                template=Template.BROADCAST.value,
                channel=channel,
                language=language,
                phone=request.POST.get("phone", ""),
                more={PARAMETER: row.pk},
                at=timezone.now(),
            )
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
        else:
            self.message_user(
                request, _("Test message queued. See the list of notifications for its status."), messages.SUCCESS
            )
