"""Middleware for sessions and logins, which API calls without a cookie skip."""

from typing import Any

from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest
from django.utils.deprecation import MiddlewareMixin
from django.utils.functional import SimpleLazyObject

from brands.staff_login import sessions
from core.web.middleware import API


class ForBrowsers(MiddlewareMixin):
    """Middleware that only browsers need: an API call without a session cookie skips it."""

    def __call__(self, request: HttpRequest) -> Any:
        if request.path_info.startswith(API) and settings.SESSION_COOKIE_NAME not in request.COOKIES:
            return self.get_response(request)
        return super().__call__(request)


class Sessions(ForBrowsers, SessionMiddleware):
    """Django's SessionMiddleware, for browsers."""


class Users(ForBrowsers, AuthenticationMiddleware):
    """Django's AuthenticationMiddleware, for browsers; the user's access is limited to that of their session."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        request.user = SimpleLazyObject(lambda: sessions.user_of(request))  # type: ignore[assignment] # as in Django


class Messages(ForBrowsers, MessageMiddleware):
    """Django's MessageMiddleware, for browsers."""
