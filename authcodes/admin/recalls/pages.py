"""Page: recalls, who was notified, and what was returned. Only an owner can withdraw a recall."""

from datetime import date
from functools import partial
from typing import Any, ClassVar
from uuid import uuid4

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from authcodes.admin.recalls import summary
from authcodes.admin.recalls.add_codes import AddCodesWizard
from authcodes.admin.recalls.forms import RecallMailForm, ReturnForm, WithdrawForm, show, unconfirmed
from authcodes.admin.recalls.withdrawal_guards import preserve_typed_return, redirect_if_withdrawn
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.scans import Scan
from authcodes.recalls import affected, notifications, recalls, returns, scopes
from authcodes.recalls import preview as recall_preview
from authcodes.recalls.notifications import Progress
from brands.identity.roles import ACT, ADD
from core.errors import DomainError
from core.spreadsheets.report import Format
from core.translations import NAMES
from loyalty.models.notifications import Language, NotificationPreference
from portal.base.confirmation import ConfirmedAction
from portal.base.sidebar import SCANS_AND_SAFETY, SidebarEntry
from portal.base.tenant_scope import staff_user
from portal.import_export.exportable import within
from portal.lists.filters import DayFilter
from portal.unfold import display

MAX_TO_CALL = 50  # customers that the page lists; the file has all


@admin.register(Recall)
class RecallAdmin(AddCodesWizard):
    role_permissions: ClassVar = {"owner": "view add act", "manager": "view add", "printer": "view", "support": "view"}
    sidebar = SidebarEntry(SCANS_AND_SAFETY, 2, "report")
    live_columns = ("notified",)
    list_display = ("recall_id", "what", "recalled_at", "recalled_by")
    list_filter = (("recalled_at", DayFilter),)
    list_select_related = ("recalled_by", "brand")
    search_fields = ("recall_id", "batches__range_name", "batches__product__title")
    search_help_text = gettext_lazy("A recall number, or part of a batch's or product's name.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Recall]:
        """Annotate each recall with its first batch and the number of batches."""
        batches = BatchRange.objects.filter(recall=OuterRef("pk")).order_by("pk")
        count = batches.order_by().values("recall").annotate(count=Count("pk")).values("count")
        rows: QuerySet[Recall] = super().get_queryset(request)
        return rows.annotate(
            batch_count=Subquery(count),
            **{name: Subquery(batches.values(name)[:1]) for name in ("range_name", "recalled_from", "recalled_to")},
        )

    @display(description=gettext_lazy("what"))
    def what(self, recall: Recall) -> str:
        row: Any = recall  # annotated by get_queryset
        if row.batch_count > 1:
            more = {"name": row.range_name, "count": row.batch_count - 1}
            return (
                ngettext("%(name)s and %(count)d more batch", "%(name)s and %(count)d more batches", more["count"])
                % more
            )
        return f"{row.range_name}: {row.recalled_from} … {row.recalled_to}" if row.recalled_to else row.range_name

    def own_views(self) -> dict[str, Any]:
        return {
            "withdraw": ("<id:pk>/withdraw/", self.withdraw),
            "affected": ("<id:pk>/affected/", self.export_affected),
            "to-call": ("<id:pk>/to-call/", self.export_to_call),
            "notify": ("<id:pk>/notify/", self.notify_customers),
            "remind": ("<id:pk>/remind/", self.remind),
            "returns": ("<id:pk>/returns/", self.enter_return),
            **super().own_views(),
        }

    # --- The page of a recall

    @redirect_if_withdrawn
    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        recall = self.get_object(request, object_id)
        if request.method == "POST":  # a recall is never edited
            raise PermissionDenied
        return self.recall_page(request, recall, ReturnForm(initial=self.today_of(recall)))

    def today_of(self, recall: Recall) -> dict[str, Any]:
        today: date = recall.brand.day_at(timezone.now())
        return {"returned_on": today.isoformat()}

    def recall_page(self, request: HttpRequest, recall: Recall, form: ReturnForm) -> HttpResponse:
        context = {
            "title": _("Recall %(recall)s") % {"recall": recall},
            "original": recall,
            "recall": recall,
            "return_form": form,
            **self.results(request, recall),
        }
        with timezone.override(recall.brand.zone):
            return self.render_page(request, "admin/authcodes/recall/page.html", context).render()

    def results(self, request: HttpRequest, recall: Recall) -> dict[str, Any]:
        """The results of a recall, and the permitted actions."""
        scope = scopes.of_recall(recall)
        codes = scope.scans_condition()
        since = Scan.objects.filter(codes, brand=recall.brand_id, scanned_at__gte=recall.recalled_at)
        query = {"reason__exact": Scan.Reason.RECALLED.value}
        if len(scope.parts) == 1:
            query["batch__id__exact"] = str(scope.batches[0].pk)
        log = urlencode({"notification__key": notifications.key_of(recall)})
        sees_customers = recall.brand_id in within(request.user, "authcodes.scan")
        progress = notifications.progress_of(recall)
        may_add = self.may(request, ADD, recall)
        figures = progress.figures
        return {
            "summary": summary.of_scope(scope),
            "recalled_scans": since.filter(reason=Scan.Reason.RECALLED).count(),
            "scans_address": f"{reverse('admin:authcodes_scan_changelist')}?{urlencode(query)}",
            "add_codes_address": self.address("add-codes", recall) if may_add else "",
            "withdraw_address": self.address("withdraw", recall) if self.may(request, ACT, recall) else "",
            "poster_address": reverse("admin:authcodes_printrun_poster", args=[recall.pk]),
            "languages": [(each.value, each.label) for each in Language],
            "progress": progress,
            "notified": progress_html(recall, progress),
            "notifications_address": f"{reverse('admin:loyalty_notificationdelivery_changelist')}?{log}",
            "notify_address": self.address("notify", recall) if may_add else "",
            "remind_address": self.address("remind", recall)
            if may_add and figures.notified > figures.acknowledged
            else "",
            "affected_address": self.address("affected", recall) if sees_customers else "",
            "call_address": self.address("to-call", recall) if sees_customers else "",
            "to_call": self.to_call(recall) if sees_customers else [],
            "returns": returns.of(recall),
            "returns_address": self.address("returns", recall) if may_add else "",
            "formats": Format.choices,
            "translated": [(NAMES[language], texts["message"]) for language, texts in recall.translations.items()],
        }

    def to_call(self, recall: Recall) -> list[dict[str, Any]]:
        """The first customers whom no message reached, with their phone numbers. Two queries."""
        rows = list(affected.to_call(recall)[:MAX_TO_CALL])
        users = [row.user_id for row in rows]
        known = NotificationPreference.objects.filter(brand=recall.brand_id, user__in=users)
        phones = dict(known.values_list("user_id", "phone"))
        return [
            {
                "name": row.user.get_full_name() or row.user.email,
                "email": row.user.email,
                "phone": phones.get(row.user_id, ""),
            }
            for row in rows
        ]

    def is_changing(self, obj: Recall) -> bool:
        return is_notifying(notifications.progress_of(obj))

    def notified(self, obj: Recall) -> SafeString:
        """How many customers were notified; updated live on the recall's page."""
        return progress_html(obj, notifications.progress_of(obj))

    # --- Notifications

    @redirect_if_withdrawn
    def notify_customers(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show what would be sent, then notify the customers who have not been notified yet."""
        recall = self.get_recall_to_change(request, pk)
        preview = recall_preview.of(recall, scopes.of_recall(recall))
        form = RecallMailForm(
            request.POST if request.method == "POST" else None, initial={"previewed": preview.fingerprint}
        )
        if request.method == "POST" and form.is_valid():
            complaint = unconfirmed(preview, form.cleaned_data)
            if not complaint:
                return self.start_notifications(request, recall)
            form.add_error("confirmation", complaint)
            if form.cleaned_data["previewed"] != preview.fingerprint:
                show(form, previewed=preview.fingerprint, confirmation="")
        context = {
            "title": _("Notify customers of recall %(recall)s?") % {"recall": recall},
            "original": recall,
            "recall": recall,
            "preview": preview,
            "form": form,
        }
        return self.render_page(request, "admin/authcodes/recall/notify.html", context)

    def start_notifications(self, request: HttpRequest, recall: Recall) -> HttpResponse:
        with transaction.atomic():
            notifications.start(recall=recall, by=staff_user(request))
            self.record_action(request, [recall], gettext_noop("Customer notifications"))
        self.message_user(request, _("Sending e-mails. This page shows how many customers have been notified."))
        return redirect("admin:authcodes_recall_change", recall.pk)

    def remind(self, request: HttpRequest, pk: int) -> HttpResponse:
        recall = self.get_recall_to_change(request, pk)
        unread = len(notifications.not_read(recall))
        if not unread:
            self.message_user(request, _("There is nobody to remind."))
            return redirect("admin:authcodes_recall_change", recall.pk)
        action = ConfirmedAction(
            title=_("Remind customers of recall %(recall)s?") % {"recall": recall},
            paragraphs=[
                ngettext(
                    "%(customers)d customer was notified and has not confirmed that they read the message.",
                    "%(customers)d customers were notified and have not confirmed that they read the message.",
                    unread,
                )
                % {"customers": unread},
                _("Each of them receives the same message once more. Customers are reminded once a day at most."),
            ],
            button=_("Send the reminder"),
        )
        return action.respond(self, request, recall, partial(self.send_reminder, request, recall))

    def send_reminder(self, request: HttpRequest, recall: Recall, answers: dict[str, Any]) -> HttpResponse:
        notifications.start_reminder(recall=recall, by=staff_user(request), at=timezone.now())
        self.record_action(request, [recall], gettext_noop("Reminder sent"), reason=answers["reason"])
        self.message_user(request, _("Sending the reminder."))
        return redirect("admin:authcodes_recall_change", recall.pk)

    # --- Returned pieces

    @redirect_if_withdrawn
    @preserve_typed_return
    def enter_return(self, request: HttpRequest, pk: int) -> HttpResponse:
        recall = self.get_recall_to_change(request, pk)
        if request.method != "POST":
            return redirect("admin:authcodes_recall_change", recall.pk)
        form = ReturnForm(request.POST)
        if form.is_valid():
            try:
                by, now = staff_user(request), timezone.now()
                with transaction.atomic():
                    line = returns.enter(recall=recall, by=by, at=now, **form.cleaned_data)
                    if line.entered_at == now:  # not a line that a second press has sent again
                        text = gettext_noop("Returned: %(line)s") % {"line": line}
                        self.record_action(request, [recall], text, reason=line.note)
            except BatchRejected as error:
                place = error.details.get("field")
                form.add_error(place if place in form.fields else None, error.message)
                if error.details.get("is_entered"):
                    show(form, form_id=str(uuid4()))  # sent again, it is the other line that the message asks for
            else:
                self.message_user(request, _("Returned pieces entered."), messages.SUCCESS)
                return redirect(f"{reverse('admin:authcodes_recall_change', args=[recall.pk])}#returned")
        return self.recall_page(request, recall, form)

    # --- Withdrawal

    @redirect_if_withdrawn
    def withdraw(self, request: HttpRequest, pk: int) -> HttpResponse:
        recall = self.get_object(request, str(pk))
        if not self.may(request, ACT, recall):
            raise PermissionDenied
        action = ConfirmedAction(
            title=_("Withdraw recall %(recall)s?") % {"recall": recall},
            paragraphs=[_("These codes will scan and earn points as before. Customers will no longer be warned.")],
            form=WithdrawForm,
            button=_("Withdraw recall"),
            dangerous=True,
            template="admin/authcodes/recall/withdraw.html",
            context={"summary": summary.of_scope(scopes.of_recall(recall))},
        )
        return action.respond(self, request, recall, partial(self.save_withdrawal, request, recall))

    def save_withdrawal(self, request: HttpRequest, recall: Recall, answers: dict[str, Any]) -> HttpResponse:
        reason, text = answers["reason"], str(recall)
        try:
            with transaction.atomic():
                scope = scopes.of_recall(recall)
                recalls.withdraw_recall(recall=recall, reason=reason, at=timezone.now(), by=staff_user(request))
                self.record_action(request, [recall], gettext_noop("Withdrawn"), reason=reason)
                self.record_on_batches(
                    request, scope, gettext_noop("Recall withdrawn: %(recall)s") % {"recall": text}, reason
                )
        except BatchRejected as error:  # another user was faster, and the recall's page is gone
            self.message_user(request, error.message, messages.ERROR)
        else:
            self.message_user(request, _("Recall withdrawn. The codes scan as before."))
        return redirect("admin:authcodes_recall_changelist")

    # --- Files

    def export_affected(self, request: HttpRequest, pk: int) -> HttpResponse:
        return self.export_customers(request, pk, affected.start_affected)

    def export_to_call(self, request: HttpRequest, pk: int) -> HttpResponse:
        return self.export_customers(request, pk, affected.start_to_call)

    def export_customers(self, request: HttpRequest, pk: int, start: Any) -> HttpResponse:
        recall = self.get_object(request, str(pk))
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if recall.brand_id not in within(request.user, "authcodes.scan"):
            raise PermissionDenied
        file_format = Format.XLSX if request.POST.get("format") == Format.XLSX else Format.CSV
        try:
            with transaction.atomic():
                job = start(recall=recall, file_format=file_format, by=staff_user(request))
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
            return redirect("admin:authcodes_recall_change", recall.pk)
        return redirect("admin:jobs_job_change", job.pk)


def is_notifying(progress: Progress) -> bool:
    """Whether customers are still being counted, or messages are still unanswered."""
    figures = progress.figures
    is_counting = progress.job is not None and progress.job.is_unfinished
    return is_counting or figures.delivered + figures.failed < figures.notified


def progress_html(recall: Recall, progress: Progress) -> SafeString:
    live_address = reverse("admin:authcodes_recall_live") if is_notifying(progress) else ""
    context = {"recall": recall, "figures": progress.figures, "live_address": live_address}
    return render_to_string("admin/authcodes/recall/progress.html", context)
