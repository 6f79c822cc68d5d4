"""Adding codes to a recall in force: choose the codes, then confirm the number of customers. The message stays."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from authcodes.admin.recalls import summary
from authcodes.admin.recalls.forms import ConfirmedForm
from authcodes.admin.recalls.wizard import RecallWizard, scope_query
from authcodes.errors import BatchRejected
from authcodes.models.batches import Recall
from authcodes.recalls import notifications, recalls
from authcodes.recalls import preview as recall_preview
from authcodes.recalls.preview import Preview
from authcodes.recalls.scopes import Scope
from brands.identity.roles import ADD
from core.texts import shortened
from core.translations import NAMES
from portal.base.tenant_scope import staff_user
from portal.unfold import TextareaWidget


class AddCodesForm(ConfirmedForm, forms.Form):
    """The reason for recalling these codes too, and the number that confirms it."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        widget=TextareaWidget(attrs={"rows": 2}),
        help_text=gettext_lazy("Why these codes are recalled too. For staff only."),
    )
    field_order = ("reason",)

    def __init__(self, *args: Any, scope: Scope, preview: Preview, **options: Any) -> None:
        super().__init__(*args, **options)
        self.set_preview(preview, scope)


class AddCodesWizard(RecallWizard):
    """Mixin of the recall admin: adding codes."""

    def own_views(self) -> dict[str, Any]:
        return {"add-codes": ("<id:pk>/add-codes/", self.add_codes), **super().own_views()}

    def address(self, name: str, recall: Recall) -> str:
        return reverse(f"admin:authcodes_recall_{name}", args=[recall.pk])

    def get_recall_to_change(self, request: HttpRequest, pk: int) -> Recall:
        """Raises PermissionDenied if the user may not recall at the brand."""
        recall: Recall = self.get_object(request, str(pk))
        if not self.may(request, ADD, recall):
            raise PermissionDenied
        return recall

    def add_codes(self, request: HttpRequest, pk: int) -> HttpResponse:
        recall = self.get_recall_to_change(request, pk)
        scope_form = self.scope_form(request, recall)
        shared = {
            "recall": recall,
            "original": recall,
            "title": _("Add codes to recall %(recall)s") % {"recall": recall},
        }
        is_chosen = scope_form.is_valid() and not (request.method == "GET" and "again" in request.GET)
        if not is_chosen or scope_form.scope is None or scope_form.combined_scope is None:
            if request.method == "POST" and scope_form.is_in_recall:  # the button was pressed twice
                return redirect("admin:authcodes_recall_change", recall.pk)
            if request.method == "POST":
                text = _("Nothing has been added yet. Choose what to add first.")
                self.message_user(request, text, messages.ERROR)
            context = {**shared, "form": scope_form, "chosen_kind": scope_form.chosen_kind}
            return self.page(request, "admin/authcodes/recall/scope.html", context)
        sent = request.POST if request.method == "POST" else None
        form = AddCodesForm(sent, scope=scope_form.scope, preview=recall_preview.of(recall, scope_form.combined_scope))
        if request.method == "POST" and form.is_valid():
            response = self.save_added_codes(request, recall, form)
            if response is not None:
                return response
        context = {
            **shared,
            "form": form,
            "scope_form": scope_form,
            "summary": summary.of_scope(scope_form.scope),
            "preview": form.preview,
            "translated": [(NAMES[language], texts["message"]) for language, texts in recall.translations.items()],
            "back": f"{self.address('add-codes', recall)}?{scope_query(request.GET).urlencode()}&again=1",
        }
        return self.page(request, "admin/authcodes/recall/add_codes.html", context)

    def save_added_codes(self, request: HttpRequest, recall: Recall, form: AddCodesForm) -> HttpResponse | None:
        """Add the codes and redirect to the recall's page. Returns None if another user was faster."""
        scope, reason, by = form.scope, form.cleaned_data["reason"], staff_user(request)
        try:
            with transaction.atomic():
                recalls.add_codes(recall=recall, added=scope, reason=reason, at=timezone.now(), by=by)
                named = shortened([batch.range_name for batch in scope.batches])
                self.record_action(
                    request, [recall], gettext_noop("Codes added: %(batches)s") % {"batches": named}, reason=reason
                )
                text = gettext_noop("Recalled: %(recall)s") % {"recall": recall}
                self.record_on_batches(request, scope, text, reason)
                if form.cleaned_data["notify_customers"]:
                    notifications.start(recall=recall, by=by)
        except BatchRejected as error:
            if error.details.get("is_in_recall"):
                return redirect("admin:authcodes_recall_change", recall.pk)
            form.add_error(None, error.message)
            return None
        text = _("Codes added to the recall. This page shows how many customers have been notified.")
        self.message_user(request, text, messages.SUCCESS)
        return redirect("admin:authcodes_recall_change", recall.pk)
