"""The portal's site: django-unfold's, limited to the brand that the user selected.

portal.shell.search implements its search box.
"""

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any

from django.contrib import messages
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import ForeignKey
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import redirect
from django.template.response import SimpleTemplateResponse, TemplateResponse
from django.templatetags.static import static
from django.urls import path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.functional import SimpleLazyObject
from django.views.decorators.cache import never_cache
from unfold.sites import UnfoldAdminSite

from brands import audit_log
from brands.audit_log import AuditedChange
from brands.identity import login_throttle, roles
from brands.models.people import User
from brands.staff_login import sessions, steps
from brands.tenants import request_brands
from core.db import row_guard
from core.errors import DomainError, QuotaReached
from portal.base.audit_mixin import audit_context
from portal.base.tenant_scope import staff_user
from portal.guide import pages as guide
from portal.lists.queries import UnknownFilter, bad_request
from portal.shell import brand_switcher, language, login, people_to_ask, saved_drafts, theme
from portal.shell import search as palette
from portal.staff_login import views
from portal.staff_login.account import password_login_only
from portal.staff_login.urls import urls
from portal.undo import views as undo

GZIP = GZipMiddleware(lambda _request: HttpResponse())  # it hides the length of the compressed content


def stylesheet(_request: HttpRequest) -> str:
    """Called by settings.UNFOLD["STYLES"]: the style sheet of every portal page, besides django-unfold's own."""
    return static("portal/portal.css")


def mark(_request: HttpRequest) -> str:
    """Called by settings.UNFOLD["SITE_FAVICONS"]: the product's logo mark."""
    return static("portal/mark.svg")


class RelatedRowAutocomplete(AutocompleteJsonView):
    """Answers for fields that refer to a row, in forms and filters; Django's own view fails for other relations."""

    def process_request(self, request: HttpRequest) -> Any:
        term, page, field, key = super().process_request(request)
        if not isinstance(field, ForeignKey):
            raise PermissionDenied
        return term, page, field, key


def note_party(request: HttpRequest) -> None:
    """Note the brands that the user works for. An operator who works for none is a party of their own."""
    user: Any = request.user
    if not user.is_authenticated:
        return
    if brand_ids := [each.brand_id for each in roles.staff_roles(user)]:
        request_brands.note(request_brands.SESSION, brand_ids)
    else:
        request_brands.note_user(user.pk)


class PortalSite(UnfoldAdminSite):  # type: ignore[misc] # unfold has no types
    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """As in Django; also grants roles what the page and its inline tables declare."""
        super().register(model_or_iterable, admin_class, **options)
        models = [model_or_iterable] if isinstance(model_or_iterable, type) else model_or_iterable
        for page in [self.get_model_admin(model) for model in models if self.is_registered(model)]:
            for table in (page, *page.inlines):
                if permissions := getattr(table, "role_permissions", None):  # Django's own pages declare none
                    roles.declare(table.model._meta.label_lower, permissions)

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:  # noqa: FBT001, FBT002
        def with_chosen_brand(request: HttpRequest, *where: Any, **more: Any) -> Any:
            brand_switcher.apply(request)
            language.apply(request)
            sessions.record_page_view(request, at=timezone.now())
            note_party(request)
            if (
                request.method == "POST"
                and not self.has_permission(request)
                and request.path != reverse("admin:logout")
            ):
                return redirect_to_login(login.form_page(request), reverse("admin:login"))
            with roles.guarding(request.user):
                try:
                    return compressed(
                        request, saved_drafts.add_cookie(request, finished(checked(request, *where, **more)))
                    )
                except (UnknownFilter, QuotaReached) as error:
                    return bad_request(request, error)
                except (Http404, PermissionDenied):
                    request.people_to_ask = people_to_ask.names(request.user)  # type: ignore[attr-defined] # for the page
                    raise

        checked = super().admin_view(view, cacheable)
        return row_guard.marked(row_guard.OF_STAFF)(update_wrapper(with_chosen_brand, checked))

    def get_urls(self) -> list[Any]:
        own = [
            path("brand/", self.admin_view(brand_switcher.choose), name="choose_brand"),
            path("language/", language.choose, name="choose_language"),
            path(
                "brand/<id:pk>/<slug:slug>.css",
                self.admin_view(theme.style_sheet, cacheable=True),
                name="brand_style",
            ),
            path("undo/<uuid:key>/", self.admin_view(undo.take), name="undo"),
            path("help/", self.admin_view(guide.page), name="help"),
            path("help/images/<str:name>", self.admin_view(guide.image), name="help_image"),
            path("help/<slug:name>/", self.admin_view(guide.page), name="help_page"),
        ]
        return [*own, *urls(self), *super().get_urls()]

    @method_decorator(never_cache)
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return views.log_in(request, extra_context or {})

    @method_decorator(never_cache)
    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        session_key = request.session.session_key
        with row_guard.disabled("logins belong to no brand"):
            answer: HttpResponse = super().logout(request, extra_context)
            sessions.remove(session_key)
        return answer

    def autocomplete_view(self, request: HttpRequest) -> HttpResponseBase:
        return RelatedRowAutocomplete.as_view(admin_site=self)(request)

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """As in Django, but only built if a page shows it: the sidebar has its own entries."""
        return SimpleLazyObject(partial(super().get_app_list, request, app_label))

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        switch = brand_switcher.context(request) if self.has_permission(request) else {}
        return {**super().each_context(request), **switch, "portal_languages": language.choices()}

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Guesses of the old password are counted with those of the page that confirms it. A session of a brand's
        identity provider cannot guess here, and must not use up the attempts of a login by password."""
        if request.method == "POST" and sessions.scope_of(request) is None:
            try:
                steps.count_try(staff_user(request))
            except DomainError as error:
                messages.error(request, error.message)
                return redirect("admin:password_change")
        with row_guard.disabled("logins belong to no brand"), transaction.atomic():
            answer: HttpResponse = password_login_only(super().password_change)(request, extra_context)
            if request.method == "POST" and answer.status_code == 302 and sessions.scope_of(request) is None:
                self.record_password(request, staff_user(request))
                sessions.end_all_but_this(request, staff_user(request))
                login_throttle.forgive(email=staff_user(request).email)
        return answer

    def record_password(self, request: HttpRequest, whose: User) -> None:
        changes = {"password": (audit_log.HIDDEN, audit_log.HIDDEN)}
        page: Any = self.get_model_admin(User)
        rows = [AuditedChange(whose, brand, changes) for brand in page.audited_brands(whose)]
        audit_log.record(audit_context=audit_context(request), action=audit_log.CHANGED, rows=rows)

    def search(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """django-unfold's own search caches results for minutes, whatever brand or role the user has by then."""
        page = request.GET.get("page", "1")
        if page != "1":
            raise Http404
        typed = request.GET.get("s", "")
        context = {
            "typed": typed[: palette.MAX_QUERY_LENGTH].strip(),
            "results": palette.search(request, typed),
            "kinds": palette.kinds(request),
        }
        return TemplateResponse(request, "unfold/helpers/command_results.html", context)


def compressed(request: HttpRequest, response: Any) -> Any:
    """Compress a page that is read. Answers to forms may contain secrets and are not compressed."""
    is_page = response.get("Content-Type", "").startswith("text/html") and not response.streaming
    return GZIP.process_response(request, response) if is_page and request.method == "GET" else response


def finished(response: Any) -> Any:
    """Render the answer now, so that all rows are read under the current guard, even if it is sent later."""
    if isinstance(response, SimpleTemplateResponse):
        return response.render()
    if response.streaming and not isinstance(response, FileResponse):
        response.streaming_content = row_guard.carried(response.streaming_content)
    return response
