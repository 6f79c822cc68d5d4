"""Page: the brand's own loyalty system, which approves points before they are credited."""

from functools import partial
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from django.views.decorators.debug import sensitive_variables

from events import messages as events
from loyalty.admin.signing_secrets import CalledForm, SigningSecretAdmin
from loyalty.integrations import external_system
from loyalty.integrations.external_system import Decision
from loyalty.models.external_system import ExternalSystem
from portal.base.badges import badge
from portal.base.confirmation import ConfirmedAction
from portal.base.sidebar import SETTINGS, SidebarEntry
from portal.unfold import action, display


@admin.register(ExternalSystem)
class ExternalSystemAdmin(SigningSecretAdmin):
    role_permissions: ClassVar = {"owner": "view add change act", "manager": "view add change act"}
    sidebar = SidebarEntry(SETTINGS, 11, "hub", tab=False)
    form = CalledForm
    list_display = ("url", "is_active", "when_rejected", "when_away", "health", "created_at")
    search_fields = ("url",)
    readonly_fields = ("health", "postponed", "previous_secret_ends_at", "created_at")
    fieldsets = (
        (None, {"fields": ("brand", "url", "is_active", ("when_rejected", "when_away"))}),
        (gettext_lazy("State"), {"fields": ("health", "postponed", ("previous_secret_ends_at", "created_at"))}),
    )
    add_fieldsets = ((None, {"fields": ("brand", "url", "is_active", ("when_rejected", "when_away"))}),)
    actions_detail = ("try_out", "rotate")

    @display(description=gettext_lazy("state"))
    def health(self, system: ExternalSystem) -> SafeString:
        if not system.is_active:
            return badge("", _("Inactive"))
        breaker = external_system.breaker_of(system)
        if breaker.is_open():
            return badge("danger", _("Not responding. Requests are paused and retried periodically."))
        return badge("success", _("Receives requests"))

    @display(description=gettext_lazy("waiting events"))
    def postponed(self, system: ExternalSystem) -> SafeString | str:
        result = external_system.postponed(brand_id=system.brand_id)
        if not result.number:
            return _("No events waiting")
        requested = {"lane": events.EXTERNAL, "status__exact": "pending", "brand__id__exact": system.brand_id}
        address = f"{reverse('admin:events_event_changelist')}?{urlencode(requested)}"
        message = _("%(number)d, oldest since %(since)s") % {
            "number": result.number,
            "since": date_format(timezone.localtime(result.since), "SHORT_DATETIME_FORMAT"),
        }
        return format_html('<a class="underline" href="{}">{}</a>', address, message)

    @method_decorator(sensitive_variables("text"))
    def create(self, request: HttpRequest, obj: ExternalSystem, form: Any) -> ExternalSystem:
        made, text = external_system.create(
            brand=obj.brand,
            url=obj.url,
            when_rejected=obj.when_rejected,
            when_away=obj.when_away,
            is_active=obj.is_active,
        )
        made.text = text  # type: ignore[attr-defined] # only the response to this request shows it
        return made

    def store(self, obj: ExternalSystem, fields: set[str]) -> None:
        external_system.change(system=obj, fields=fields)

    @action(description=gettext_lazy("Send a test request"), url_path="test", icon="send", permissions=["act_on_row"])
    def try_out(self, request: HttpRequest, object_id: str) -> HttpResponse:
        row = self.get_object(request, object_id)
        message = _(
            "A test request of the type external.test, about no customer, will be "
            "sent now. The system has two seconds to answer."
        )
        action = ConfirmedAction(title=_("Send a test request?"), paragraphs=[message], button=_("Send request"))
        return action.respond(self, request, row, partial(self.tried_out, request, row))

    def tried_out(self, request: HttpRequest, row: ExternalSystem, answers: dict[str, Any]) -> None:
        decision = external_system.test(system=row)
        details = {"milliseconds": decision.milliseconds, "reason": decision.reason}
        if decision.decision is None:
            message, level = _("No usable answer after %(milliseconds)d ms: %(reason)s"), messages.ERROR
        elif decision.decision == Decision.PROCEED:
            message, level = _("It answered after %(milliseconds)d ms: credit the points."), messages.SUCCESS
        else:
            message, level = _("It answered after %(milliseconds)d ms: credit nothing. %(reason)s"), messages.SUCCESS
        self.record_action(request, [row], gettext_noop("Test request sent"), reason=answers["reason"])
        self.message_user(request, message % details, level)
