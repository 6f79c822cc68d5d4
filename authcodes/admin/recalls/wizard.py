"""The steps of a new recall: its scope, its message, and the number that confirms it."""

from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from authcodes.admin.recalls import drawings, summary
from authcodes.admin.recalls.forms import SEND_TEST, MessageForm, language_named, unsaved_recall
from authcodes.admin.recalls.scope_form import ScopeForm
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.products import Product
from authcodes.printing import posters
from authcodes.printing.documents import LibrariesMissing
from authcodes.recalls import notifications, recalls
from authcodes.recalls import preview as recall_preview
from authcodes.recalls.scopes import Scope
from brands import audit_log
from brands.audit_log import AuditedChange
from brands.identity.roles import ADD
from core.errors import DomainError, RateLimited
from core.texts import shortened
from loyalty.models.notifications import Channel, Template
from loyalty.notifications import test_sends
from portal.base.audit_mixin import audit_context
from portal.base.tenant_admin import page_of
from portal.base.tenant_scope import staff_user
from portal.mixins.live_lists import LiveAdmin

MAX_DIGITS = 12
QUERY_FIELDS = ("kind", "product", "batches", "batch", "first", "last")


class RecallWizard(LiveAdmin):
    """Mixin of the recall admin: the wizard of a new recall."""

    def own_views(self) -> dict[str, Any]:
        views = {"preview": ("add/preview/", self.preview_view), "poster": ("add/poster/", self.poster_view)}
        return {**views, **super().own_views()}

    def add_view(
        self,
        request: HttpRequest,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        scope_form = self.scope_form(request)
        if (
            not scope_form.is_valid()
            or scope_form.scope is None
            or (request.method == "GET" and "again" in request.GET)
        ):
            if request.method == "POST" and (twin := recall_of_previous_submit(request, scope_form)):
                return redirect("admin:authcodes_recall_change", twin.pk)
            if request.method == "POST":
                text = _("Nothing has been recalled yet. Choose what to recall first.")
                self.message_user(request, text, messages.ERROR)
            return self.page(
                request,
                "admin/authcodes/recall/scope.html",
                {"form": scope_form, "chosen_kind": scope_form.chosen_kind},
            )
        form = MessageForm(request.POST if request.method == "POST" else None, scope=scope_form.scope)
        if request.method == "POST" and SEND_TEST in request.POST:
            self.send_test(request, form)
        elif request.method == "POST" and form.is_valid():
            response = self.create_recall(request, form, scope_form.scope)
            if response is not None:
                return response
        return self.message_page(request, scope_form, form)

    # --- Step 1: the scope

    def scope_form(self, request: HttpRequest, recall: Recall | None = None) -> ScopeForm:
        """The scope form, bound if the address has values. `recall`: the recall that codes are added to."""
        within = self.brand_scope(request, ADD)
        batches = self.admin_site.get_model_admin(BatchRange).choices(request, within)
        own = {"brand": recall.brand_id} if recall else {}
        return ScopeForm(
            scope_query(request.GET) if set(QUERY_FIELDS) & set(request.GET) else None,
            products=self.admin_site.get_model_admin(Product).choices(request, within).filter(**own),
            batches=batches.filter(**own).select_related("brand", "product", "recall"),
            admin_site=self.admin_site,
            recall=recall,
        )

    # --- Step 2: the message, and step 3: the number

    def message_page(self, request: HttpRequest, scope_form: ScopeForm, form: MessageForm) -> HttpResponse:
        assert scope_form.scope is not None  # noqa: S101 - checked by the caller
        query = scope_query(request.GET).urlencode()
        context = {
            "form": form,
            "scope_form": scope_form,
            "summary": summary.of_scope(scope_form.scope),
            "preview": form.preview,
            "drawings": drawings.drawings(form.unsaved(), scope_form.scope),
            "test_address": staff_user(request).email,
            "preview_address": f"{reverse('admin:authcodes_recall_preview')}?{query}",
            "poster_address": f"{reverse('admin:authcodes_recall_poster')}?{query}",
            "back": f"{reverse('admin:authcodes_recall_add')}?{query}&again=1",
        }
        return self.page(request, "admin/authcodes/recall/message.html", context)

    def page(self, request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
        return self.render_page(request, template, {"title": _("New recall"), **context}).render()

    def posted_recall(self, request: HttpRequest) -> tuple[Scope, Recall]:
        """The scope and the message as typed so far. Raises PermissionDenied or BatchRejected."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        scope_form = self.scope_form(request)
        if not scope_form.is_valid() or scope_form.scope is None:
            raise BatchRejected(_("Nothing has been recalled yet. Choose what to recall first."))
        return scope_form.scope, unsaved_recall(scope_form.scope, request.POST.dict())

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """What customers would get, while the message is being typed. The page sends the counts along."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        try:
            scope, recall = self.posted_recall(request)
        except BatchRejected as error:
            return HttpResponse(error.message, status=409, content_type="text/plain; charset=utf-8")
        reached = [
            recall_preview.ChannelCount(channel.value, str(channel.label), customers)
            for channel in Channel
            if (customers := posted_count(request, f"by_{channel.value}")) is not None
        ]
        preview = recall_preview.counted(
            recall, scope, customers=posted_count(request, "customers") or 0, channels=reached
        )
        context = {
            "preview": preview,
            "drawings": drawings.drawings(recall, scope),
            "test_address": staff_user(request).email,
            "poster_address": f"{reverse('admin:authcodes_recall_poster')}?{scope_query(request.GET).urlencode()}",
        }
        return TemplateResponse(request, "admin/authcodes/recall/preview.html", context).render()

    def poster_view(self, request: HttpRequest) -> HttpResponse:
        """The poster with the message as typed so far."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        try:
            scope, recall = self.posted_recall(request)
            language = posters.language_of(scope.brand.pk, request.POST.get("poster", ""))
            made = posters.as_pdf(drawings.poster_of(recall, scope), language)
        except (BatchRejected, LibrariesMissing, RateLimited) as error:
            self.message_user(request, error.message, messages.ERROR)
            return redirect(f"{reverse('admin:authcodes_recall_add')}?{scope_query(request.GET).urlencode()}")
        response = HttpResponse(made, content_type="application/pdf")
        response["Content-Disposition"] = f'inline; filename="recall-poster-{language}.pdf"'
        return response

    def send_test(self, request: HttpRequest, form: MessageForm) -> None:
        """Mail the customers' message to the user. The page then shows the form again."""
        if not form.is_valid():
            return
        by, scope = staff_user(request), form.scope
        try:
            test_sends.send(
                brand=scope.brand,
                to=by,
                template=Template.RECALL.value,
                channel=Channel.EMAIL.value,
                language=language_named(request.POST[SEND_TEST]),
                more=notifications.notification_of(form.unsaved(), scope).values,
                at=timezone.now(),
            )
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
        else:
            text = _("Test sent to %(address)s. Nothing has been recalled yet.")
            self.message_user(request, text % {"address": by.email}, messages.SUCCESS)

    def create_recall(self, request: HttpRequest, form: MessageForm, scope: Scope) -> HttpResponse | None:
        """Create the recall and redirect to its page. Returns None if another user was faster."""
        cleaned = {name: form.cleaned_data[name] for name in ("recall_id", "contact", "message", "reason")}
        by = staff_user(request)
        try:
            with transaction.atomic():
                texts = {**cleaned, "translations": form.unsaved().translations}
                made = recalls.recall(scope=scope, at=timezone.now(), by=by, **texts)
                self.record_new(request, made, scope)
                if form.cleaned_data["notify_customers"]:
                    notifications.start(recall=made, by=by)
        except BatchRejected as error:
            twin = identical_recall(scope, cleaned["recall_id"])
            if twin is not None:  # the button was pressed twice
                return redirect("admin:authcodes_recall_change", twin.pk)
            form.add_error(None, error.message)
            return None
        text = _("Codes recalled. This page shows how many customers have been notified.")
        self.message_user(request, text, messages.SUCCESS)
        return redirect("admin:authcodes_recall_change", made.pk)

    def record_new(self, request: HttpRequest, made: Recall, scope: Scope) -> None:
        """Record it in the histories of the recall and of its batches: a withdrawn recall loses its own page."""
        context = replace(audit_context(request), reason=made.reason)
        named = shortened([batch.range_name for batch in scope.batches])
        changes = {**audit_log.changes(None, made), "batches": (None, named), "codes": (None, str(scope.codes))}
        row = AuditedChange(made, made.brand_id, changes)
        audit_log.record(audit_context=context, action=audit_log.ADDED, rows=[row])
        self.record_on_batches(request, scope, gettext_noop("Recalled: %(recall)s") % {"recall": made}, made.reason)

    def record_on_batches(self, request: HttpRequest, scope: Scope, text: str, reason: str) -> None:
        page_of(scope.batches[0], self.admin_site).record_action(request, scope.batches, text, reason=reason)


def scope_query(query: QueryDict) -> QueryDict:
    """The parameters of the scope, without anything else in the address."""
    result = QueryDict(mutable=True)
    for name in QUERY_FIELDS:
        if name in query:
            result.setlist(name, [text.strip() for text in query.getlist(name)])
    return result


def posted_count(request: HttpRequest, name: str) -> int | None:
    """The count that the page sent back; None if it is not a valid number."""
    text = request.POST.get(name, "")
    return int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else None


def recall_of_previous_submit(request: HttpRequest, scope_form: ScopeForm) -> Recall | None:
    """The recall that an earlier submit of the same page created."""
    made = {batch.recall for batch in scope_form.already_recalled}
    recall = made.pop() if len(made) == 1 else None
    return recall if recall is not None and recall.recall_id == request.POST.get("recall_id", "").strip() else None


def identical_recall(scope: Scope, recall_id: str) -> Recall | None:
    """A recall with this number and exactly these codes."""
    recalled_codes = {part.batch.pk: (part.first, part.last) for part in scope.parts}
    rows = BatchRange.objects.filter(pk__in=recalled_codes, recall__recall_id=recall_id).select_related("recall")
    its_codes = {row.pk: (row.recalled_from, row.recalled_to) for row in rows}
    recall = rows[0].recall if its_codes == recalled_codes else None
    return recall if recall is not None and recall.batches.count() == len(recalled_codes) else None
