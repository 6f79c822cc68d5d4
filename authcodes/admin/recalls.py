"""Page: batches called back. Before anything changes it says what will; only an owner takes a recall back."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from authcodes.admin.recall_forms import (
    SEND_TEST,
    RecallForm,
    RecallMailForm,
    WithdrawForm,
    language_named,
    unconfirmed,
)
from authcodes.dashboard import figures
from authcodes.dashboard.figures import Top
from authcodes.dashboard.filters import Filters
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.scans import Scan
from authcodes.recalls import affected, notifications, recalls
from authcodes.recalls import preview as recall_preview
from authcodes.recalls.notifications import Progress
from brands.identity.roles import ACT, ADD
from core.errors import DomainError
from core.spreadsheets.report import Format
from loyalty.models.notifications import Channel, Template
from loyalty.notifications import test_sends
from portal.base.confirmation import ConfirmedAction
from portal.base.sidebar import SCANS_AND_SAFETY, SidebarEntry
from portal.base.tenant_admin import page_of
from portal.base.tenant_scope import staff_user
from portal.import_export.exportable import within
from portal.lists.filters import OwnRowsFilter
from portal.lists.ids import is_id
from portal.lists.live import LiveAdmin
from portal.unfold import SelectWidget


@dataclass(frozen=True, slots=True)
class BatchSummary:
    """What a recall is about: the batch, how many codes it has, and who has scanned them so far, and where most."""

    batch: BatchRange
    codes: int
    scanned: int
    customers: int
    places: Sequence[Top]


def summary_of(batch: BatchRange) -> BatchSummary:
    """Counted as the dashboard does: of a large batch neither all codes nor all scans are read."""
    brands, its = [batch.brand], Filters(batch_id=batch.pk)
    codes, scans = figures.codes(brands=brands, filters=its), figures.scans(brands=brands, filters=its)
    return BatchSummary(batch, batch.generated_count, codes.scanned, scans.unique_scanners, scans.places)


@admin.register(Recall)
class RecallAdmin(LiveAdmin):
    role_permissions: ClassVar = {"owner": "view add act", "manager": "view add", "printer": "view", "support": "view"}
    sidebar = SidebarEntry(SCANS_AND_SAFETY, 2, "report")
    form = RecallForm
    brand_path = "batch__brand"
    list_display = ("recall_id", "batch", "contact", "recalled_at", "recalled_by")
    live_columns = ("notified",)
    list_filter = (("batch__product", OwnRowsFilter),)
    list_select_related = ("batch", "recalled_by")
    search_fields = ("recall_id", "batch__range_name")
    autocomplete_fields = ("batch",)
    readonly_fields = ("recalled_at", "recalled_by")
    fieldsets = (
        (None, {"fields": (("batch", "recall_id"), "contact", "message", "reason")}),
        (gettext_lazy("History"), {"fields": (("recalled_at", "recalled_by"),)}),
    )
    add_fieldsets = (
        (
            None,
            {
                "fields": (
                    ("batch", "recall_id"),
                    *("contact", "message", "reason", "notify_customers", "confirmation", "previewed"),
                )
            },
        ),
    )
    add_form_template = "admin/authcodes/recall_add.html"
    change_form_outer_before_template = "admin/authcodes/recall_panel.html"

    def get_urls(self) -> list[Any]:
        views = {"withdraw": self.withdraw, "affected": self.export_affected, "tell": self.notify_customers}
        own = [
            path(f"<id:pk>/{name}/", self.admin_site.admin_view(view), name=f"authcodes_recall_{name}")
            for name, view in views.items()
        ]
        return [*own, *super().get_urls()]

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.method == "POST" and not request.GET.get("batch"):
            return self.enter_details(request)
        if request.POST.get(SEND_TEST):
            self.send_test(request)
        return super().add_view(request, form_url, {**(extra_context or {}), **self.before(request)})

    def send_test(self, request: HttpRequest) -> None:
        """Mail what customers would get to whoever writes it. The page then shows the form again: see RecallForm."""
        form: Any = self.get_form(request, None, change=False)(request.POST, instance=Recall())
        form.is_valid()
        if form.preview is None:
            return
        by, batch = staff_user(request), form.cleaned_data["batch"]
        texts = {name: form.cleaned_data[name] for name in ("recall_id", "contact", "message")}
        try:
            test_sends.send(
                brand=batch.brand,
                to=by,
                template=Template.RECALL.value,
                channel=Channel.EMAIL.value,
                language=language_named(request.POST[SEND_TEST]),
                more=notifications.notification_of(Recall(batch=batch, **texts)).values,
                at=timezone.now(),
            )
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
        else:
            self.message_user(request, _("Test sent to %(address)s.") % {"address": by.email}, messages.SUCCESS)

    def enter_details(self, request: HttpRequest) -> HttpResponse:
        """Nobody recalls what they have not been told the extent of."""
        texts = _("Nothing has been recalled yet. Check what the recall changes, then confirm it on this page.")
        self.message_user(request, texts, messages.ERROR)
        return redirect(f"{request.path}?{urlencode({'batch': request.POST.get('batch', '')})}")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        page_context = self.about(request, self.get_object(request, object_id))
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **page_context})

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Once the page says what changes, the batch it says so of is the only choice."""
        field = super().formfield_for_foreignkey(db_field, request, **options)
        chosen = request.GET.get("batch", "")
        if db_field.name == "batch" and is_id(chosen):
            field.widget, field.empty_label = SelectWidget(), None
            field.queryset = field.queryset.filter(pk=chosen)
        return field

    def before(self, request: HttpRequest) -> dict[str, Any]:
        """What a new recall would change, once its batch is chosen."""
        chosen = request.POST.get("batch") or request.GET.get("batch") or ""
        if not is_id(chosen):
            return {}
        rows = self.admin_site.get_model_admin(BatchRange).choices(request, self.brand_scope(request, ADD))
        batch = rows.filter(pk=chosen, recall__isnull=True).first()
        return {"facts": summary_of(batch)} if batch else {}

    def about(self, request: HttpRequest, recall: Recall) -> dict[str, Any]:
        """What came of a recall, and what may be done about it."""
        since = Scan.objects.filter(brand=recall.batch.brand_id, scanned_at__gte=recall.recalled_at)
        query = urlencode({"reason__exact": Scan.Reason.RECALLED.value, "batch__id__exact": str(recall.batch_id)})
        log = urlencode({"notification__key": notifications.key_of(recall)})
        sees_customers = recall.batch.brand_id in within(request.user, "authcodes.scan")
        progress = notifications.progress_of(recall)
        return {
            "facts": summary_of(recall.batch),
            "recalled_scans": since.filter(reason=Scan.Reason.RECALLED, batch=recall.batch).count(),
            "scans_address": f"{reverse('admin:authcodes_scan_changelist')}?{query}",
            "withdraw_address": self.address("withdraw", recall) if self.may(request, ACT, recall) else "",
            "notice_address": reverse("admin:authcodes_printrun_notice", args=[recall.pk]),
            "progress": progress,
            "notified": drawn(recall, progress),
            "notifications_address": f"{reverse('admin:loyalty_notificationdelivery_changelist')}?{log}",
            "tell_address": self.address("tell", recall) if self.may(request, ADD, recall) else "",
            "affected_address": self.address("affected", recall) if sees_customers else "",
            "formats": Format.choices,
        }

    def is_changing(self, obj: Recall) -> bool:
        return is_notifying(notifications.progress_of(obj))

    def notified(self, obj: Recall) -> SafeString:
        """How many customers know, kept current on the recall's page."""
        return drawn(obj, notifications.progress_of(obj))

    def address(self, name: str, recall: Recall) -> str:
        return reverse(f"admin:authcodes_recall_{name}", args=[recall.pk])

    def create(self, request: HttpRequest, obj: Recall, form: Any) -> Recall:
        cleaned = {name: form.cleaned_data[name] for name in ("recall_id", "contact", "message", "reason")}
        made = recalls.recall_batch(batch=obj.batch, at=timezone.now(), by=staff_user(request), **cleaned)
        self.note_on_batch(request, obj.batch, gettext_noop("Recalled: %(recall)s") % {"recall": made}, made.reason)
        if form.cleaned_data["notify_customers"]:
            notifications.start(recall=made, by=staff_user(request))
        return made

    def response_add(self, request: HttpRequest, obj: Recall, post_url_continue: Any = None) -> HttpResponse:  # noqa: ARG002
        """On to the page that counts who was reached."""
        self.message_user(
            request, _("Batch recalled. This page shows how many customers have been notified."), messages.SUCCESS
        )
        return redirect("admin:authcodes_recall_change", obj.pk)

    def notify_customers(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Tell those who were not told yet: all of them, or those who came to be known since. First it shows how."""
        recall = self.get_object(request, str(pk))
        if not self.may(request, ADD, recall):
            raise PermissionDenied
        preview = recall_preview.of(recall)
        form = RecallMailForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            if complaint := unconfirmed(preview, form.cleaned_data):
                form.add_error("confirmation", complaint)
            else:
                return self.start_notifications(request, recall)
        if form.data.get("previewed") != preview.fingerprint:
            form = RecallMailForm(initial={"previewed": preview.fingerprint})
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": _("Notify customers of recall %(recall)s?") % {"recall": recall},
            "original": recall,
            "recall": recall,
            "preview": preview,
            "form": form,
        }
        return TemplateResponse(request, "admin/authcodes/recall_tell.html", context)

    def start_notifications(self, request: HttpRequest, recall: Recall) -> HttpResponse:
        with transaction.atomic():
            notifications.start(recall=recall, by=staff_user(request))
            self.note(request, [recall], gettext_noop("Customer notifications"))
        self.message_user(request, _("Sending e-mails. This page shows how many customers have been notified."))
        return redirect("admin:authcodes_recall_change", recall.pk)

    def withdraw(self, request: HttpRequest, pk: int) -> HttpResponse:
        recall = self.get_object(request, str(pk))
        if not self.may(request, ACT, recall):
            raise PermissionDenied
        action = ConfirmedAction(
            page=self,
            request=request,
            row=recall,
            title=_("Withdraw recall %(recall)s?") % {"recall": recall},
            paragraphs=[_("These codes will scan and earn points as before. Customers will no longer be warned.")],
            form=WithdrawForm,
            button=_("Withdraw recall"),
            dangerous=True,
            template="admin/authcodes/recall_withdraw.html",
            context={"facts": summary_of(recall.batch)},
        )
        return action.respond(partial(self.withdrawn, request, recall))

    def withdrawn(self, request: HttpRequest, recall: Recall, answers: dict[str, Any]) -> HttpResponse:
        reason, text = answers["reason"], str(recall)
        try:
            with transaction.atomic():
                recalls.withdraw_recall(recall=recall, reason=reason, at=timezone.now(), by=staff_user(request))
                self.note(request, [recall], gettext_noop("Withdrawn"), reason=reason)
                self.note_on_batch(
                    request, recall.batch, gettext_noop("Recall withdrawn: %(recall)s") % {"recall": text}, reason
                )
        except BatchRejected as error:  # a colleague was faster: there is no recall whose page could say so
            self.message_user(request, error.message, messages.ERROR)
        else:
            self.message_user(request, _("Recall withdrawn. The codes scan as before."))
        return redirect("admin:authcodes_recall_changelist")

    def note_on_batch(self, request: HttpRequest, batch: BatchRange, text: str, reason: str) -> None:
        """Write it into the batch's history too: the recall's own page goes when it is withdrawn."""
        page_of(batch, self.admin_site).note(request, [batch], text, reason=reason)

    def export_affected(self, request: HttpRequest, pk: int) -> HttpResponse:
        recall = self.get_object(request, str(pk))
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if recall.batch.brand_id not in within(request.user, "authcodes.scan"):
            raise PermissionDenied
        file_format = Format.XLSX if request.POST.get("format") == Format.XLSX else Format.CSV
        with transaction.atomic():
            job = affected.start_affected(batch=recall.batch, file_format=file_format, by=staff_user(request))
        return redirect("admin:jobs_job_change", job.pk)


def is_notifying(progress: Progress) -> bool:
    """Whether not all customers that will be are counted, or not all were reached yet."""
    figures = progress.figures
    is_counting = progress.job is not None and progress.job.is_unfinished
    return is_counting or figures.delivered + figures.failed < figures.notified


def drawn(recall: Recall, progress: Progress) -> SafeString:
    live_address = reverse("admin:authcodes_recall_live") if is_notifying(progress) else ""
    context = {"recall": recall, "figures": progress.figures, "live_address": live_address}
    return render_to_string("admin/authcodes/recall_progress.html", context)
