"""The target of a message's Undo button."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from core.errors import DomainError
from portal.undo import offers


def take(request: HttpRequest, key: UUID) -> HttpResponse:
    """Undo the action, report it, and return to the page with the button."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        offers.take(request, key)
    except DomainError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("Undone."))
    return redirect(back(request))


def back(request: HttpRequest) -> str:
    """The portal page that the form names; Home for any other address."""
    where = request.POST.get("next", "")
    home = reverse("admin:index")
    is_ours = where.startswith(home) and url_has_allowed_host_and_scheme(where, allowed_hosts=None)
    return where if is_ours else home
