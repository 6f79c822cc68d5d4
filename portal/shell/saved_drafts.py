"""Reports to the browser which of its drafts (drafts.js) have been saved, so that it deletes them.

A form carries the id of its draft, and a second step (`data-saves-drafts`) those of the first. It counts as saved if
the answer is a redirect without an error message, or if `mark_saved` was called: a rejected form is shown again, and a
form of an ended session leads to the login.
"""

import re
from typing import Any

from django.contrib import messages
from django.http import HttpRequest

from brands.models.people import User

FIELD, COOKIE = "draft", "portal_saved"
IDS = re.compile(r"[0-9a-f]{1,40}(\.[0-9a-f]{1,40}){0,9}")
LIFE_SECONDS = 600  # the next page reads it
LEADS_ON = frozenset({302, 303})
SAVED = "_form_is_saved"  # on the request


def mark_saved(request: HttpRequest) -> None:
    """Call for a saved form that is answered by a page, such as one that shows a secret once."""
    setattr(request, SAVED, True)


def add_cookie(request: HttpRequest, response: Any) -> Any:
    """The response, with a cookie about the drafts that it saved."""
    is_answered = response.status_code in LEADS_ON or hasattr(request, SAVED)
    ids = request.POST.get(FIELD, "") if request.method == "POST" and is_answered else ""
    if IDS.fullmatch(ids) and isinstance(request.user, User) and not has_error_message(request):
        response.set_cookie(
            COOKIE, ids, max_age=LIFE_SECONDS, path="/admin/", samesite="Lax", secure=request.is_secure()
        )
    return response


def has_error_message(request: HttpRequest) -> bool:
    queued = getattr(messages.get_messages(request), "_queued_messages", ())
    return any(each.level >= messages.ERROR for each in queued)
