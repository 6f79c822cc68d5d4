"""The common parts of sign-in pages: the portal's design without its menu, and errors shown on the form."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.cache import add_never_cache_headers

from core.errors import DomainError

View = Callable[..., HttpResponse]


def private(view: View) -> View:
    """No cache stores the page, and no other site learns its address, which may be a personal link."""

    @wraps(view)
    def guarded(request: HttpRequest, *where: Any, **more: Any) -> HttpResponse:
        response = view(request, *where, **more)
        add_never_cache_headers(response)
        response.headers["Referrer-Policy"] = "same-origin"
        return response

    return guarded


def render_page(request: HttpRequest, template: str, *, title: Any, **context: Any) -> HttpResponse:
    return TemplateResponse(
        request, f"staff_login/{template}.html", {**admin.site.each_context(request), "title": title, **context}
    )


def tried(form: forms.Form, act: Callable[[], bool], wrong: Any) -> bool:
    """Whether `act` succeeded, which may raise DomainError. If not, the form shows the error."""
    try:
        if act():
            return True
        form.add_error(None, wrong)
    except DomainError as error:
        form.add_error(None, error.message)
    return False
