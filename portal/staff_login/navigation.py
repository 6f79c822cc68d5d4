"""The items of the user menu."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from brands.staff_login import sessions


def account_links(request: HttpRequest) -> list[dict[str, Any]]:
    """Called by settings.UNFOLD["ACCOUNT"]["navigation"]."""
    if sessions.scope_of(request) is not None:
        return []
    return [
        {"title": _("Your login"), "link": reverse("admin:own_account")},
        {"title": _("Change password"), "link": reverse("admin:password_change")},
    ]
