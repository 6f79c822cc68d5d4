"""Pages: a brand's webhook endpoints, and the log of their deliveries with each attempt and its response."""

import json
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from django.views.decorators.debug import sensitive_variables

from brands.identity.roles import ACT
from core.numbers import format_number
from loyalty.admin.signing_secrets import CalledForm, SigningSecretAdmin
from loyalty.integrations import webhook_endpoints, webhook_events
from loyalty.models.webhooks import WebhookDelivery, WebhookEndpoint, WebhookType
from portal.base.audit_mixin import audit_context
from portal.base.badges import badge, badge_column
from portal.base.confirmation import ConfirmedAction
from portal.base.sidebar import SETTINGS, SidebarEntry
from portal.lists.filters import DayFilter, OwnRowsFilter, ValuesFilter
from portal.mixins.live_lists import LiveAdmin
from portal.unfold import CheckboxesWidget, ChoicesFilter, action, display

STATES = {"active": "success", "disabled": "", "gone": "danger", "failing": "danger"}
ENDS = {"waiting": "info", "delivered": "success", "failed": "danger", "dropped": "warning"}
WAIT_SECONDS = 60


class EndpointForm(CalledForm):
    types = forms.MultipleChoiceField(
        label=gettext_lazy("Events"),
        choices=WebhookType.choices,
        widget=CheckboxesWidget,
        help_text=gettext_lazy("The events that this webhook receives. Choose only those that the other system needs."),
    )


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(SigningSecretAdmin):
    role_permissions: ClassVar = {"owner": "view add change act", "manager": "view add change act"}
    sidebar = SidebarEntry(SETTINGS, 4, "webhook")
    form = EndpointForm
    list_display = ("url", "description", "event_kinds", "state_badge", "failing_since", "created_at")
    list_filter = (("state", ChoicesFilter),)
    linked_filters = ("state__in",)
    search_fields = ("url", "description")
    readonly_fields = ("state_badge", "state_since", "failing_since", "previous_secret_ends_at", "log", "created_at")
    fieldsets = (
        (None, {"fields": ("brand", "url", "description", "types")}),
        (
            gettext_lazy("State"),
            {
                "fields": (
                    ("state_badge", "state_since"),
                    ("failing_since", "previous_secret_ends_at"),
                    "log",
                    "created_at",
                )
            },
        ),
    )
    add_fieldsets = ((None, {"fields": ("brand", "url", "description", "types")}),)
    actions_detail = ("ping", "stop", "start", "rotate")

    @display(description=gettext_lazy("events"))
    def event_kinds(self, endpoint: WebhookEndpoint) -> str:
        return ", ".join(endpoint.types)

    state_badge = badge_column("state", STATES, description=gettext_lazy("state"))

    @display(description=gettext_lazy("messages"))
    def log(self, endpoint: WebhookEndpoint) -> SafeString:
        address = reverse("admin:loyalty_webhookdelivery_changelist")
        message = _("Requests and responses")
        return format_html(
            '<a class="underline" href="{}?endpoint__id__exact={}">{}</a>', address, endpoint.pk, message
        )

    @method_decorator(sensitive_variables("text"))
    def create(self, request: HttpRequest, obj: WebhookEndpoint, form: Any) -> WebhookEndpoint:
        made, text = webhook_endpoints.create(
            brand=obj.brand, url=obj.url, types=obj.types, description=obj.description, at=timezone.now()
        )
        made.text = text  # type: ignore[attr-defined] # only the response to this request shows it
        return made

    def store(self, obj: WebhookEndpoint, fields: set[str]) -> None:
        webhook_endpoints.change(endpoint=obj, fields=fields)

    def other_ways(self, request: HttpRequest, row: WebhookEndpoint) -> list[tuple[Any, str]]:
        if not self.has_ping_permission(request, row.pk):
            return []
        return [(_("I have copied it: send a test"), reverse("admin:loyalty_webhookendpoint_ping", args=[row.pk]))]

    def has_stop_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        """Also for an endpoint that the service stopped, so that staff can confirm the stop."""
        row = self.addressed_row(request, object_id)
        return row is not None and self.may(request, ACT, row) and row.state != WebhookEndpoint.State.DISABLED

    def has_ping_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        row = self.addressed_row(request, object_id)
        return row is not None and self.may(request, ACT, row) and row.is_active

    def has_start_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        row = self.addressed_row(request, object_id)
        return row is not None and self.may(request, ACT, row) and not row.is_active

    @action(description=gettext_lazy("Send a test"), url_path="ping", icon="send", permissions=["ping"])
    def ping(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """POST sends a test event. The page of its delivery shows the result."""
        row = self.get_object(request, object_id)
        action = ConfirmedAction(
            title=_("Send a test event?"),
            paragraphs=[_("A signed event of the type webhook.test will be sent now.")],
            form=forms.Form,
            button=_("Send"),
        )
        return action.respond(self, request, row, lambda _answers: self.pinged(request, row))

    def pinged(self, request: HttpRequest, row: WebhookEndpoint) -> HttpResponse:
        message = webhook_events.ping(endpoint=row, at=timezone.now())
        self.record_action(request, [row], gettext_noop("Test sent: %(message)s") % {"message": message.message_id})
        return redirect("admin:loyalty_webhookdelivery_change", message.pk)

    @action(description=gettext_lazy("Disable"), url_path="disable", icon="block", permissions=["stop"])
    def stop(self, request: HttpRequest, object_id: str) -> HttpResponse:
        row = self.get_object(request, object_id)
        action = ConfirmedAction(
            title=_("Disable this webhook?"),
            paragraphs=[_("This webhook will stop receiving events. Pending deliveries will be discarded.")],
            button=_("Disable webhook"),
        )
        return action.respond(self, request, row, partial(self.stopped, request, row))

    def stopped(self, request: HttpRequest, row: WebhookEndpoint, answers: dict[str, Any]) -> None:
        state, by = WebhookEndpoint.State.DISABLED, audit_context(request, answers["reason"])
        webhook_endpoints.stop(endpoint=row, state=state, at=timezone.now(), audit_context=by)
        self.message_user(request, _("Disabled: %(webhook)s.") % {"webhook": row}, messages.SUCCESS)

    @action(description=gettext_lazy("Enable"), url_path="enable", icon="check_circle", permissions=["start"])
    def start(self, request: HttpRequest, object_id: str) -> HttpResponse:
        row = self.get_object(request, object_id)
        action = ConfirmedAction(
            title=_("Enable this webhook?"),
            paragraphs=[_("This webhook will receive new events. Missed events can be resent from its deliveries.")],
            button=_("Enable webhook"),
        )
        return action.respond(self, request, row, partial(self.started, request, row))

    def started(self, request: HttpRequest, row: WebhookEndpoint, answers: dict[str, Any]) -> None:
        by = audit_context(request, answers["reason"])
        webhook_endpoints.start(endpoint=row, at=timezone.now(), audit_context=by)
        self.message_user(request, _("Enabled: %(webhook)s.") % {"webhook": row}, messages.SUCCESS)


class TypeFilter(ValuesFilter):
    title = gettext_lazy("event")
    parameter_name = "type"

    def values(self) -> list[str]:
        return [*WebhookType.values, webhook_events.PING]


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(LiveAdmin):
    role_permissions: ClassVar = {"owner": "view act", "manager": "view act"}
    sidebar = SidebarEntry(SETTINGS, 10, "outbox", tab=False)
    opens_in_drawer = True
    live_columns = ("ended", "tried", "calls")
    live_prefetch: ClassVar = {"calls": "calls"}
    list_display = ("created_at", "type", "endpoint", "ended", "tried", "last_status", "next_attempt_at")
    list_filter = (("state", ChoicesFilter), TypeFilter, ("endpoint", OwnRowsFilter), ("created_at", DayFilter))
    list_select_related = ("endpoint", "brand")
    search_fields = ("message_id__exact",)
    search_help_text = gettext_lazy("A delivery id (header webhook-id).")
    fieldsets = (
        (None, {"fields": ("brand", ("type", "ended"), ("endpoint", "message_id"))}),
        (gettext_lazy("Times"), {"fields": (("created_at", "finished_at"), "next_attempt_at")}),
        (gettext_lazy("Attempts"), {"fields": ("calls",)}),
        (gettext_lazy("Content"), {"fields": ("content",)}),
    )
    actions = ("resend_chosen",)
    actions_detail = ("resend",)

    @display(description=gettext_lazy("state"), ordering="state")
    def ended(self, message: WebhookDelivery) -> SafeString:
        return self.live(message, "ended", badge(ENDS[message.state], message.get_state_display()))

    def is_changing(self, obj: WebhookDelivery) -> bool:
        return is_under_way(obj)

    @display(description=gettext_lazy("attempts"), ordering="attempts")
    def tried(self, message: WebhookDelivery) -> SafeString:
        return self.live(message, "tried", format_html("{}", format_number(message.attempts)))

    @display(description=gettext_lazy("attempts"))
    def calls(self, message: WebhookDelivery) -> SafeString:
        """Only the attempts that the delivery counted when it was read, so that they match its state."""
        context = {"calls": list(message.calls.all())[: message.attempts], "zone": message.brand.zone}
        return self.live(message, "calls", render_to_string("admin/loyalty/webhook_calls.html", context))

    @display(description=gettext_lazy("body"))
    def content(self, message: WebhookDelivery) -> SafeString:
        if not message.body:
            return format_html("<p>{}</p>", _("This delivery concerned a customer whose data was erased."))
        body = json.dumps(json.loads(message.body), indent=2, ensure_ascii=False)
        return format_html('<pre class="whitespace-pre-wrap break-words text-xs">{}</pre>', body)

    def has_resend_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        row = self.addressed_row(request, object_id)
        return row is not None and self.may(request, ACT, row) and row.state != WebhookDelivery.State.WAITING

    @action(description=gettext_lazy("Send again"), url_path="resend", icon="replay", permissions=["resend"])
    def resend(self, request: HttpRequest, object_id: str) -> HttpResponse:
        message = self.get_object(request, object_id)
        action = ConfirmedAction(
            title=_("Send again: %(message)s") % {"message": message},
            paragraphs=[
                _("The event is sent again with the same id, so that the receiver can recognise the duplicate.")
            ],
            form=forms.Form,
            button=_("Send again"),
            cancel=_("Back to the delivery"),
        )
        return action.respond(self, request, message, lambda _answers: self.send_again(request, [message]))

    @admin.action(description=gettext_lazy("Send again with the same id"), permissions=["act"])
    def resend_chosen(self, request: HttpRequest, queryset: QuerySet[WebhookDelivery]) -> None:
        self.send_again(request, self.chosen(request, queryset))

    def send_again(self, request: HttpRequest, chosen: list[WebhookDelivery]) -> None:
        at = timezone.now()
        sent = [message for message in chosen if webhook_events.resend(message=message, at=at)]
        self.report(request, sent, gettext_noop("Sent again"))
        if len(sent) < len(chosen):
            text = _(
                "Not sent: %(number)d. They are already waiting, their webhook "
                "is disabled, or their customer was erased."
            )
            self.message_user(request, text % {"number": len(chosen) - len(sent)}, messages.WARNING)


def is_under_way(message: WebhookDelivery) -> bool:
    """Whether its first or next attempt is due while the page is open."""
    soon = timezone.now() + timedelta(seconds=WAIT_SECONDS)
    is_new = soon - message.created_at < timedelta(seconds=2 * WAIT_SECONDS) and not message.attempts
    is_due = message.next_attempt_at is not None and message.next_attempt_at < soon
    return message.state == WebhookDelivery.State.WAITING and (is_new or is_due)
