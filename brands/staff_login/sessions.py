"""Sessions of staff: the only code that starts, lists and ends them, and the brands that a session covers."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib import auth
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.utils.translation import gettext as _

from brands.models.people import User
from brands.staff_login.models import StaffSession
from core.db import row_guard
from core.web.client_address import client_address

KEY = "staff"  # in the session: data of the login that started it
SEEN_EVERY = timedelta(minutes=5)
SYSTEMS = {"iPhone": "iPhone", "iPad": "iPad", "Android": "Android", "Windows": "Windows", "Mac OS X": "macOS"}
BROWSERS = {"Edg/": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "Chrome/": "Chrome", "Safari/": "Safari"}
UNKNOWN_BROWSER = "Unknown browser"


def user_of(request: HttpRequest) -> User | AnonymousUser:
    """The logged-in user with the session's scope. A brand's identity provider can only log in to that brand, and never
    a superuser, even one who became one later."""
    user = auth.get_user(request)
    if not isinstance(user, User):
        return AnonymousUser()
    brand_id = scope_of(request)
    if brand_id is not None and user.is_superuser:
        return AnonymousUser()
    user.session_brand_id = brand_id
    return user


def scope_of(request: HttpRequest) -> int | None:
    """The only brand of this session; None for a session that covers all of the user's brands."""
    result: int | None = request.session.get(KEY, {}).get("brand")
    return result


def begin(request: HttpRequest, *, user: User, brand_id: int | None, at: datetime) -> None:
    """Log `user` in. The browser's previous session is discarded."""
    discard(request)
    auth.login(request, user, backend=getattr(user, "backend", settings.AUTHENTICATION_BACKENDS[0]))
    if request.session.session_key is None:
        request.session.save()
    row = StaffSession.objects.create(
        user=user,
        session_key=request.session.session_key or "",
        brand_id=brand_id,
        network=client_address(request),
        device=device_of(request.META.get("HTTP_USER_AGENT", "")),
        created_at=at,
        last_seen_at=at,
    )
    request.session[KEY] = {"brand": brand_id, "row": row.pk, "proved_at": at.timestamp()}


def discard(request: HttpRequest) -> None:
    """Discard the browser's session, and remove it from the list."""
    remove(request.session.session_key)
    request.session.flush()


def device_of(user_agent: str) -> str:
    """Browser and system by name, in English. A user agent with neither is returned as it is, shortened."""
    browser = next((name for mark, name in BROWSERS.items() if mark in user_agent), "")
    system = next((name for mark, name in SYSTEMS.items() if mark in user_agent), "")
    system = system or ("Linux" if "Linux" in user_agent else "")
    if browser and system:
        return f"{browser} on {system}"
    return "".join(letter for letter in user_agent[:120] if letter.isprintable()) or UNKNOWN_BROWSER


def device_name(device: str) -> str:
    """What `device_of` returned for a session, in the reader's language."""
    browser, _separator, system = device.partition(" on ")
    if browser in BROWSERS.values() and system in {*SYSTEMS.values(), "Linux"}:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return _("Unknown browser") if device == UNKNOWN_BROWSER else device


def record_page_view(request: HttpRequest, *, at: datetime) -> None:
    """Record a page view; most calls change nothing."""
    row = request.session.get(KEY, {}).get("row")
    if row is not None:
        StaffSession.objects.filter(pk=row, last_seen_at__lt=at - SEEN_EVERY).update(last_seen_at=at)


def listed(user: User, *, at: datetime) -> Sequence[StaffSession]:
    """The sessions that may still be valid, the last seen first."""
    alive = StaffSession.objects.filter(user=user, last_seen_at__gte=earliest_view(at))
    return list(alive.select_related("brand")[:100])


def earliest_view(at: datetime) -> datetime:
    """When a session that is still valid at `at` was seen last at the earliest.

    A page that stores something in the session, such as the selected brand, extends it. A view is recorded at most
    every SEEN_EVERY.
    """
    return at - timedelta(seconds=settings.SESSION_COOKIE_AGE) - SEEN_EVERY


def end(*, user: User, session_id: int) -> bool:
    """End one of the user's sessions; False if they have none with this id."""
    row = StaffSession.objects.filter(user=user, pk=session_id).first()
    if row is None:
        return False
    _end(row)
    return True


def end_other_sessions(*, user: User, current_key: str | None) -> int:
    """End all of the user's sessions except the one with the key `current_key`. Returns how many."""
    with row_guard.disabled("a login is one for all brands, and so are its sessions"):
        rows = list(StaffSession.objects.filter(user=user).exclude(session_key=current_key or ""))
        for row in rows:
            _end(row)
    return len(rows)


def end_of_provider(request: HttpRequest, *, brand_id: int) -> None:
    """End the sessions that the brand's identity provider started, including this one if it is among them."""
    with row_guard.disabled("a login is one for all brands, and so are its sessions"):
        for row in StaffSession.objects.filter(brand=brand_id):
            if row.session_key == request.session.session_key:
                request.session.flush()
            _end(row)


def end_all_but_this(request: HttpRequest, user: User) -> None:
    """Call after a password change, which gave this session a new key and invalidated all others."""
    row = request.session.get(KEY, {}).get("row")
    if row is not None:
        StaffSession.objects.filter(pk=row, user=user).update(session_key=request.session.session_key)
    end_other_sessions(user=user, current_key=request.session.session_key)


def remove(session_key: str | None) -> None:
    """Remove a session that logged out from the list."""
    StaffSession.objects.filter(session_key=session_key or "").delete()


def purge_ended(*, at: datetime) -> int:
    """Delete the rows of sessions that are too old to be valid."""
    return StaffSession.objects.filter(last_seen_at__lt=earliest_view(at)).delete()[0]


def _end(row: StaffSession) -> None:
    store: Any = import_module(settings.SESSION_ENGINE).SessionStore
    store().delete(row.session_key)
    row.delete()
