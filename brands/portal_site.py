"""The portal's site: django-unfold's, seen through the brand that a person chose to look at.

Its look-up answers a mistyped page number like any other missing page.
"""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from django.core.paginator import InvalidPage
from django.db import transaction
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse
from django.urls import path
from unfold.sites import UnfoldAdminSite

from brands import audit, guard, parties, roles, switcher
from brands.audit import Row
from brands.audited import deed
from brands.models import User
from brands.portal import person


def note_party(request: HttpRequest) -> None:
    """The brands in which whoever asks works. An operator who works in none is a party of their own."""
    user: Any = request.user
    if not user.is_authenticated:
        return
    if brand_ids := [each.brand_id for each in roles.memberships(user)]:
        parties.note(brand_ids)
    else:
        parties.note_person(user.pk)


class PortalSite(UnfoldAdminSite):  # type: ignore[misc] # unfold has no types
    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:  # noqa: FBT001, FBT002
        def seen_through_the_choice(request: HttpRequest, *where: Any, **more: Any) -> Any:
            switcher.apply(request)
            note_party(request)
            with roles.guarding(request.user):
                return finished(checked(request, *where, **more))

        checked = super().admin_view(view, cacheable)
        return update_wrapper(seen_through_the_choice, checked)

    def get_urls(self) -> list[Any]:
        return [path("brand/", self.admin_view(switcher.choose), name="choose_brand"), *super().get_urls()]

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        switch = switcher.context(request) if self.has_permission(request) else {}
        return {**super().each_context(request), **switch}

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        with guard.lifted("logins belong to no brand"):
            answer: HttpResponse = super().logout(request, extra_context)
            return answer

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        with guard.lifted("logins belong to no brand"), transaction.atomic():
            answer: HttpResponse = super().password_change(request, extra_context)
            if request.method == "POST" and answer.status_code == 302:
                self.note_password(request, person(request))
        return answer

    def note_password(self, request: HttpRequest, whose: User) -> None:
        changes = {"password": (audit.HIDDEN, audit.HIDDEN)}
        page: Any = self.get_model_admin(User)
        rows = [Row(whose, brand, changes) for brand in page.audited_brands(whose)]
        audit.record(deed=deed(request), action=audit.CHANGED, rows=rows)

    def search(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        page = request.GET.get("page", "1")
        if not (page.isascii() and page.isdigit() and len(page) < 7):
            raise Http404
        try:
            found: HttpResponse = super().search(request, extra_context)
        except InvalidPage as error:
            raise Http404 from error
        return found


def finished(response: Any) -> Any:
    """An answer whose rows are all read under the guard of now, also where it would be written later."""
    if isinstance(response, SimpleTemplateResponse):
        return response.render()
    if response.streaming and not isinstance(response, FileResponse):
        response.streaming_content = guard.carried(response.streaming_content)
    return response
