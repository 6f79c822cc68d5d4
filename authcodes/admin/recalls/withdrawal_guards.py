"""Responses of a recall's pages if a colleague withdraws the recall in the meantime."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from authcodes.admin.recalls.forms import ReturnForm
from authcodes.errors import BatchRejected
from authcodes.models.recalls import RecallReturn, WithdrawnRecall
from brands.identity.roles import ADD
from portal.base.tenant_admin import TenantAdmin


def redirect_if_withdrawn(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorate a view of a recall: if a colleague has withdrawn it, redirect to the list with a message."""

    @wraps(view)
    def result(page: Any, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        try:
            return view(page, request, *args, **options)
        except BatchRejected as error:
            page.message_user(request, error.message, messages.ERROR)
            return redirect("admin:authcodes_recall_changelist")

    return result


def preserve_typed_return(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorate the view that saves returned pieces: if the recall was withdrawn, show the typed values again."""

    @wraps(view)
    def result(page: TenantAdmin, request: HttpRequest, pk: int) -> HttpResponse:
        try:
            return view(page, request, pk)
        except BatchRejected:
            if request.method != "POST":
                raise
        except Http404:
            withdrawn = WithdrawnRecall.objects.filter(former_id=pk)
            if request.method != "POST" or not page.brand_scope(request, ADD).of(withdrawn, "brand").exists():
                raise
        form = ReturnForm(request.POST)
        context = {
            "title": _("Returned pieces"),
            "form": form,
            "is_entered": form.is_valid() and is_entered(page.brand_scope(request, ADD), pk, form),
        }
        return page.render_page(request, "admin/authcodes/recall/typed_return.html", context)

    return result


def is_entered(scope: Any, recall_id: int, form: ReturnForm) -> bool:
    """Whether the same form was already saved before the recall was withdrawn, and only its response was lost."""
    rows = RecallReturn.objects.filter(recall=recall_id, form_id=form.cleaned_data["form_id"])
    return bool(scope.of(rows, "brand").exists())
