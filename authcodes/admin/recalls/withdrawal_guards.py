"""What a recall's pages answer when a colleague withdraws it in the meantime."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from authcodes.admin.recalls.forms import ReturnForm
from authcodes.errors import BatchRejected
from authcodes.models.recalls import RecallReturn, WithdrawnRecall
from brands.identity.roles import ADD


def redirect_if_withdrawn(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A view of a recall that a colleague may withdraw meanwhile: then the list says so."""

    @wraps(view)
    def result(page: Any, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        try:
            return view(page, request, *args, **options)
        except BatchRejected as error:
            page.message_user(request, error.message, messages.ERROR)
            return redirect("admin:authcodes_recall_changelist")

    return result


def preserve_typed_return(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A view that returned pieces are sent to: of a withdrawn recall it answers with them, so that none is lost."""

    @wraps(view)
    def result(page: Any, request: HttpRequest, pk: int) -> HttpResponse:
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
            **page.admin_site.each_context(request),
            "opts": page.opts,
            "title": _("Returned pieces"),
            "form": form,
            "is_entered": form.is_valid() and is_entered(page.brand_scope(request, ADD), pk, form),
        }
        return TemplateResponse(request, "admin/authcodes/recall/typed_return.html", context)

    return result


def is_entered(scope: Any, recall_id: int, form: ReturnForm) -> bool:
    """Whether the same form was sent before the recall was withdrawn, and its answer got lost."""
    rows = RecallReturn.objects.filter(recall=recall_id, form_id=form.cleaned_data["form_id"])
    return bool(scope.of(rows, "brand").exists())
