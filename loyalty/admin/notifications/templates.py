"""Page: notification texts. A brand's texts are next to the default ones; both can be previewed and test sent."""

from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.forms.widgets import Script
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.identity.roles import ACT, ADD, VIEW
from brands.models.tenants import Brand
from core.errors import DomainError
from loyalty.admin.notifications.drafts import draft, names_of
from loyalty.admin.resources import NotificationTemplateResource
from loyalty.models.notifications import Channel, Language, NotificationTemplate, Template
from loyalty.notifications import catalogue, rendering, test_sends
from loyalty.notifications.catalogue import KINDS, MessageText
from portal.base.forms import TenantForm
from portal.base.sidebar import MESSAGES, SidebarEntry
from portal.base.tenant_scope import staff_user
from portal.import_export.importable import ImportingAdmin
from portal.unfold import ChoicesFilter

CHOICE = ("template", "channel", "language")


class NotificationTemplateForm(TenantForm):
    """Rejects a text whose placeholders cannot be filled, with the reason at its field."""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        template, channel = (cleaned.get(name) or getattr(self.instance, name) for name in CHOICE[:2])
        if template in Template.values and channel in Channel.values:
            texts: dict[str, str] = {name: cleaned[name] for name in ("subject", "body") if name in cleaned}
            for field, problem in catalogue.text_problems(template, channel, texts):
                self.add_error(field, problem)
        return cleaned


@admin.register(NotificationTemplate)
class NotificationTemplateAdmin(ImportingAdmin):
    role_permissions: ClassVar = {"owner": "view add change delete act", "manager": "view add change delete act"}
    sidebar = SidebarEntry(MESSAGES, 3, "edit_note")
    resource = NotificationTemplateResource
    form = NotificationTemplateForm
    list_display = ("template", "channel", "language", "subject", "updated_at")
    list_filter = (("template", ChoicesFilter), ("channel", ChoicesFilter), ("language", ChoicesFilter))
    list_before_template = "admin/loyalty/notifications/overview.html"
    change_form_outer_before_template = "admin/loyalty/notifications/names.html"
    change_form_outer_after_template = "admin/loyalty/notifications/draft.html"
    fieldsets = (
        (None, {"fields": ("brand", CHOICE)}),
        (gettext_lazy("Text"), {"fields": ("subject", "body")}),
    )

    class Media:
        js = (Script("portal/notification_editor.js", type="module"),)

    def own_views(self) -> dict[str, Any]:
        return {"preview": ("preview/", self.preview), "draft": ("draft/", self.draft), **super().own_views()}

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Leaves broadcasts out, because their texts are written on their own page."""
        if db_field.name == "template":
            offered = set(with_wording())
            options["choices"] = [each for each in db_field.get_choices() if not each[0] or each[0] in offered]
        return super().formfield_for_choice_field(db_field, request, **options)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """A saved text keeps its notification, channel and language."""
        return [*super().get_readonly_fields(request, obj), *(CHOICE if obj else ())]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """A new text of a brand starts as a copy of the default text."""
        result = super().get_changeform_initial_data(request)
        choice = [result.get(name, "") for name in CHOICE]
        if is_choice(*choice):
            message = catalogue.shipped(*choice)
            result = {**result, "subject": message.subject, "body": message.body}
        return result

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {**(extra_context or {}), "overview": self.overview(request)})

    def overview(self, request: HttpRequest) -> dict[str, Any]:
        """All notifications with links to their previews. Those with a text of the brand's own are marked."""
        brands = list(self.brand_scope(request, VIEW).of(Brand.objects.all(), "pk")[:2])
        if len(brands) != 1:
            return {}
        own = set(NotificationTemplate.objects.filter(brand=brands[0]).values_list(*CHOICE))
        rows = [
            {
                "name": template.label,
                "cells": [
                    [
                        (language.label, self.preview_address(brands[0].pk, *choice), choice in own)
                        for language in (Language if channel in KINDS[template].channels else ())
                        for choice in [(template.value, channel.value, language.value)]
                    ]
                    for channel in Channel
                ],
            }
            for template in Template
            if not KINDS[template].is_written_each_time
        ]
        return {"channels": [channel.label for channel in Channel], "rows": rows}

    def preview_address(self, brand_id: int, *choice: str) -> str:
        query = urlencode([("brand", brand_id), *zip(CHOICE, choice, strict=True)])
        return f"{reverse('admin:loyalty_notificationtemplate_preview')}?{query}"

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().add_view(request, form_url, {**(extra_context or {}), **self.template_context(request, None)})

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        page_context = self.template_context(request, self.get_object(request, unquote(object_id)))
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **page_context})

    def template_context(self, request: HttpRequest, row: NotificationTemplate | None) -> dict[str, Any]:
        """The placeholders for the text, and the URL of its preview."""
        template = row.template if row else request.GET.get("template", "")
        kinds = [template] if template in Template.values else [*with_wording()]
        names = dict(name for kind in kinds for name in names_of(kind))
        page_context: dict[str, Any] = {"names": list(names.items())}
        if self.brand_scope(request, ADD):
            page_context["draft_address"] = reverse("admin:loyalty_notificationtemplate_draft")
        if row:
            page_context["draft_of"] = {"brand": row.brand_id, **{name: getattr(row, name) for name in CHOICE}}
            page_context["preview_address"] = self.preview_address(
                row.brand_id, row.template, row.channel, row.language
            )
        return page_context

    def draft(self, request: HttpRequest) -> HttpResponse:
        """Preview the unsaved text of a form, as JSON for the page with that form."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        values = request.POST
        template, channel, language = (values.get(name, "") for name in CHOICE)
        brand = self.brand_seen(request, values.get("brand", ""))
        if (
            brand is None
            or brand.pk not in self.brand_scope(request, ADD)
            or not is_choice(template, channel, language)
        ):
            raise Http404
        message = MessageText(values.get("subject", ""), values.get("body", ""))
        return JsonResponse(draft(brand=brand, template=template, channel=channel, language=language, texts=message))

    def preview(self, request: HttpRequest) -> HttpResponse:
        """Preview a notification with sample values. POST sends it to the user as a test."""
        values = request.POST if request.method == "POST" else request.GET
        choice = [values.get(name, "") for name in CHOICE]
        brand = self.brand_seen(request, values.get("brand", ""))
        if brand is None or not is_choice(*choice):
            raise Http404
        if request.method == "POST" and self.sent_test(request, brand, choice):
            return redirect(self.preview_address(brand.pk, *choice))
        row = NotificationTemplate.objects.filter(brand=brand, **dict(zip(CHOICE, choice, strict=True))).first()
        template, channel, language = choice
        context = {
            "title": f"{Template(template).label}: {Channel(channel).label}, {Language(language).label}",
            "composed": rendering.compose(rendering.sample(brand, template, channel, language)),
            "direction": catalogue.direction(language),
            "selected": {"brand": brand.pk, **dict(zip(CHOICE, choice, strict=True))},
            "is_own": row is not None,
            "channel": channel,
            "languages": [
                (each.label, self.preview_address(brand.pk, template, channel, each.value), each.value == language)
                for each in Language
            ],
            "channels": [
                (each.label, self.preview_address(brand.pk, template, each.value, language), each.value == channel)
                for each in KINDS[template].channels
            ],
            "edit_address": self.edit_address(request, brand, row, choice),
            "may_send": brand.pk in self.brand_scope(request, ACT),
            "my_address": staff_user(request).email,
            "phone": request.POST.get("phone", ""),
        }
        return self.render_page(request, "admin/loyalty/notifications/preview.html", context)

    def edit_address(
        self, request: HttpRequest, brand: Brand, row: NotificationTemplate | None, choice: list[str]
    ) -> str:
        if brand.pk not in self.brand_scope(request, ADD):
            return ""
        if row:
            return reverse("admin:loyalty_notificationtemplate_change", args=[row.pk])
        query = urlencode([("brand", brand.pk), *zip(CHOICE, choice, strict=True)])
        return f"{reverse('admin:loyalty_notificationtemplate_add')}?{query}"

    def sent_test(self, request: HttpRequest, brand: Brand, choice: list[str]) -> bool:
        """Whether the test was sent. If not, a message says why."""
        if brand.pk not in self.brand_scope(request, ACT):
            raise PermissionDenied
        template, channel, language = choice
        try:
            test_sends.send(
                brand=brand,
                to=staff_user(request),
                template=template,
                channel=channel,
                language=language,
                phone=request.POST.get("phone", ""),
                at=timezone.now(),
            )
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
            return False
        message = _("Test message queued. See the list of notifications for its status.")
        self.message_user(request, message, messages.SUCCESS)
        return True


def with_wording() -> Iterator[str]:
    """Notifications whose text is the same for every customer."""
    return (each for each in Template.values if not KINDS[each].is_written_each_time)


def is_choice(template: str, channel: str, language: str) -> bool:
    if template not in Template.values or KINDS[template].is_written_each_time:
        return False
    return channel in KINDS[template].channels and language in Language.values
