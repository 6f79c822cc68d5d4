"""The user's own sign-in page: second factors, recovery codes, and the browsers where they are logged in."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from brands.models.people import User
from brands.staff_login import factors, policy, sessions, steps
from brands.staff_login.models import Factor
from core.db import row_guard
from core.numbers import is_id
from portal.base.tenant_scope import staff_user
from portal.staff_login import setup
from portal.staff_login.forms import PasswordForm
from portal.staff_login.pages import View, private, render_page, tried


def password_login_only(view: View) -> View:
    """Close a page to sessions that a brand's identity provider started: it does not vouch for other brands."""

    @wraps(view)
    def guarded(request: HttpRequest, *where: Any, **more: Any) -> HttpResponse:
        if sessions.scope_of(request) is None:
            with row_guard.disabled("a login is one for all brands; the page asks for this user's own rows"):
                return view(request, *where, **more)
        message = _(
            "You are logged in through your brand's identity provider. Log in "
            "with your password to change how you log in."
        )
        messages.error(request, message)
        return redirect("admin:index")

    return guarded


def recent_password_required(view: View) -> View:
    """Require that the user entered their password within the last minutes; otherwise ask for it."""

    @wraps(view)
    def guarded(request: HttpRequest, *where: Any, **more: Any) -> HttpResponse:
        if steps.has_proved(request, at=timezone.now()):
            return view(request, *where, **more)
        back = request.get_full_path() if request.method == "GET" else reverse("admin:own_account")
        return redirect(f"{reverse('admin:confirm_password')}?{urlencode({'next': back})}")

    return guarded


@private
@password_login_only
def own_account(request: HttpRequest) -> HttpResponse:
    user, now = staff_user(request), timezone.now()
    return render_page(
        request,
        "account",
        title=_("Your login"),
        factors=list(Factor.objects.filter(user=user)),
        recovery_codes_left=factors.recovery_codes_left(user),
        second_factor_required=policy.requires_second_factor(user),
        sessions=[(each, sessions.device_name(each.device)) for each in sessions.listed(user, at=now)],
        session_key=request.session.session_key,
    )


@private
@password_login_only
@sensitive_post_parameters("password")
def confirm_password(request: HttpRequest) -> HttpResponse:
    form = PasswordForm(request.POST or None)
    wrong = _("The password is wrong.")
    if form.is_valid() and tried(form, lambda: is_password(staff_user(request), form.cleaned_data["password"]), wrong):
        steps.prove(request, at=timezone.now())
        return HttpResponseRedirect(
            steps.safe_address(request, request.GET.get("next", "")) or reverse("admin:own_account")
        )
    return render_page(request, "confirm", title=_("Confirm your identity"), form=form)


def is_password(user: User, password: str) -> bool:
    steps.count_try(user)
    return user.check_password(password)


@private
@password_login_only
@recent_password_required
@sensitive_post_parameters("code", "credential")
def add_factor(request: HttpRequest) -> HttpResponse:
    user = staff_user(request)
    is_first = not factors.has_any(user)
    page = setup.FactorSetup(request, user)
    if not page.is_done():
        return render_page(request, "add_factor", title=_("Add a second factor"), **page.context())
    return codes_page(request, user) if is_first else redirect_with_message(request, _("The second factor was added."))


@require_POST
@private
@password_login_only
@recent_password_required
def remove_factor(request: HttpRequest) -> HttpResponse:
    user = staff_user(request)
    factor = Factor.objects.filter(user=user, pk=posted_id(request.POST.get("factor", ""))).first()
    if factor is None:
        return redirect_with_message(request, _("This second factor no longer exists."), messages.ERROR)
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)  # two concurrent removals leave one
        is_last = not Factor.objects.filter(user=user).exclude(pk=factor.pk).exists()
        if is_last and policy.requires_second_factor(user):
            message = _("You must have a second factor. Add another one before you remove this one.")
            return redirect_with_message(request, message, messages.ERROR)
        factors.remove(factor=factor)
        setup.notify(request, user, gettext_noop("Second factor removed: %(factor)s"), factor=factor)
    return redirect_with_message(request, _("The second factor was removed."))


@require_POST
@private
@password_login_only
@recent_password_required
def new_codes(request: HttpRequest) -> HttpResponse:
    user = staff_user(request)
    if not factors.has_any(user):
        return redirect_with_message(request, _("Recovery codes need a second factor. Add one first."), messages.ERROR)
    setup.notify(request, user, gettext_noop("New recovery codes made"))
    return codes_page(request, user)


def codes_page(request: HttpRequest, user: User) -> HttpResponse:
    """Answers directly instead of redirecting: no session or cache ever holds the codes."""
    codes = factors.new_recovery_codes(user=user)
    return render_page(
        request, "codes", title=_("Recovery codes"), codes=codes, next_address=reverse("admin:own_account")
    )


@require_POST
@private
@password_login_only
def end_session(request: HttpRequest) -> HttpResponse:
    user = staff_user(request)
    if request.POST.get("session") == "others":
        count = sessions.end_other_sessions(user=user, current_key=request.session.session_key)
        return redirect_with_message(request, _("Other sessions ended: %(count)d") % {"count": count})
    if sessions.end(user=user, session_id=posted_id(request.POST.get("session", ""))):
        return redirect_with_message(request, _("The session was ended."))
    return redirect_with_message(request, _("This session no longer exists."), messages.ERROR)


def posted_id(text: str) -> int:
    """A submitted id; 0, which no row has, for anything else."""
    return int(text) if is_id(text) else 0


def redirect_with_message(request: HttpRequest, text: str, level: int = messages.SUCCESS) -> HttpResponse:
    messages.add_message(request, level, text)
    return redirect("admin:own_account")


PAGES: dict[str, tuple[str, Callable[..., HttpResponse]]] = {
    "own_account": ("account/", own_account),
    "confirm_password": ("account/confirm/", confirm_password),
    "add_factor": ("account/factors/add/", add_factor),
    "remove_factor": ("account/factors/remove/", remove_factor),
    "new_recovery_codes": ("account/recovery-codes/", new_codes),
    "end_staff_session": ("account/sessions/end/", end_session),
}
