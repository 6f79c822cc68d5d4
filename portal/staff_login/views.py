"""The pages before the login: password, second factor, forgotten password, lost factors."""

import json
from typing import Any

from django.contrib import admin
from django.contrib.auth.views import LoginView
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables

from brands.models.people import User
from brands.staff_login import factors, mails, passkeys, sessions, staff, steps
from brands.staff_login.models import StaffMail
from brands.staff_login.steps import Pending
from core.errors import Invalid
from core.redis import rate_limits
from core.web import client_address
from portal.shell import login, navigation
from portal.staff_login import setup
from portal.staff_login.forms import CodeForm, ForgotForm, NewPasswordForm, PasskeyForm, PasswordForm
from portal.staff_login.pages import private, render_page, tried


class PasswordStep(LoginView):
    """The portal's login form. The password alone only suffices for users who neither have nor need a second factor."""

    def form_valid(self, form: Any) -> HttpResponse:
        next_address = self.get_success_url()
        if next_address == reverse("admin:index"):
            next_address = navigation.first_page(form.get_user())
        step = steps.after_password(self.request, form.get_user(), next_address=next_address)
        if step:
            return redirect(step)
        return login.succeeded(self.request, HttpResponseRedirect(next_address), form.get_user())


def log_in(request: HttpRequest, extra_context: dict[str, Any]) -> HttpResponse:
    """As in django.contrib.admin, with a second step after the password."""
    if request.method == "GET" and admin.site.has_permission(request):
        return redirect("admin:index")
    context = {
        **admin.site.each_context(request),
        "title": _("Log in"),
        "app_path": request.get_full_path(),
        "username": request.user.get_username(),
        "next": steps.safe_address(request, request.GET.get("next", "")) or reverse("admin:index"),
        **extra_context,
    }
    form, template = admin.site.login_form, admin.site.login_template or "admin/login.html"
    step: Any = PasswordStep.as_view(
        extra_context=context,
        authentication_form=form,
        template_name=template,
        next_page=reverse("admin:index"),
    )
    answer: HttpResponse = step(request)
    return answer


@private
@sensitive_post_parameters("code", "credential")
def second_factor(request: HttpRequest) -> HttpResponse:
    """The second step: a code, or a passkey."""
    waiting = steps.pending(request, at=timezone.now())
    if waiting is None:
        return redirect("admin:login")
    if not factors.has_any(waiting.user):
        return redirect("admin:second_factor_setup" if waiting.may_set_up else "admin:login")
    by_passkey = request.POST.get("by") == "passkey"
    form = CodeForm(request.POST if request.method == "POST" and not by_passkey else None)
    passkey_form = PasskeyForm(request.POST if by_passkey else None)
    used = passkey_form if by_passkey else form
    wrong = (
        _("The passkey was not accepted. Use another method.")
        if by_passkey
        else _("This code is wrong or has already been used.")
    )
    if used.is_valid() and tried(used, lambda: is_right(request, waiting, used), wrong):
        steps.finish(request, waiting)
        answer = HttpResponseRedirect(waiting.next_address)
        return login.succeeded(request, answer, waiting.user, brand_id=waiting.brand_id)
    return render_page(
        request,
        "second_factor",
        title=_("Second factor"),
        form=form,
        passkey_form=passkey_form,
        question=json.dumps(passkeys.question(request, waiting.user)),
        has_passkeys=bool(factors.passkeys_of(waiting.user)),
    )


def is_right(request: HttpRequest, waiting: Pending, form: CodeForm | PasskeyForm) -> bool:
    """Raises RateLimited after too many attempts of either kind."""
    steps.count_try(waiting.user, brand_id=waiting.brand_id)
    if isinstance(form, PasskeyForm):
        return passkeys.accepts(request, waiting.user, answer=form.cleaned_data["credential"], at=timezone.now())
    return factors.accepts(user=waiting.user, code=form.cleaned_data["code"], at=timezone.now())


@private
@sensitive_post_parameters("code", "credential")
def second_factor_setup(request: HttpRequest) -> HttpResponse:
    """Users who need a second factor and have none must set one up before they see any other portal page."""
    waiting = steps.pending(request, at=timezone.now())
    if waiting is None or not waiting.may_set_up:
        return redirect("admin:second_factor" if waiting else "admin:login")
    page = setup.FactorSetup(request, waiting.user)
    if not page.is_done():
        return render_page(request, "setup_first", title=_("Set up a second factor"), **page.context())
    codes = factors.new_recovery_codes(user=waiting.user)
    steps.finish(request, waiting)
    answer = render_page(
        request, "codes_first", title=_("Recovery codes"), codes=codes, next_address=waiting.next_address
    )
    return login.succeeded(request, answer, waiting.user)


@private
def forgot(request: HttpRequest) -> HttpResponse:
    """Request a link by mail. Neither the answer nor its timing reveals whether the address belongs to staff."""
    form = ForgotForm(request.POST or None)
    if form.is_valid() and tried(form, lambda: sent(request, form.cleaned_data["email"]), ""):
        return redirect("admin:forgot_password_sent")
    return render_page(request, "forgot", title=_("Forgot your password?"), form=form)


def sent(request: HttpRequest, email: str) -> bool:
    rate_limits.hit("staff_mail", "address", client_address.client_address(request))
    rate_limits.hit("staff_mail", "email", email)
    user = User.objects.filter(email=email, is_active=True, is_staff=True).first()
    with transaction.atomic():
        mails.write(user=user, kind=StaffMail.Kind.PASSWORD_LINK, origin=mails.origin_of(request))
    return True


@private
def forgot_sent(request: HttpRequest) -> HttpResponse:
    return render_page(request, "forgot_sent", title=_("Check your mailbox"))


@private
@sensitive_post_parameters()
@sensitive_variables()
def new_password(request: HttpRequest, token: str) -> HttpResponse:
    """The page of a mailed link. Viewing does not use it up: mail programs open links by themselves."""
    try:
        result = mails.opened(kind=StaffMail.Kind.PASSWORD_LINK, token=token)
    except Invalid as error:
        return render_page(request, "link_ended", title=_("Set a new password"), message=error.message)
    form = NewPasswordForm(result.user, request.POST or None)
    if form.is_valid() and tried(form, lambda: set_password(request, result, form.cleaned_data["password1"]), ""):
        return redirect("admin:login")
    return render_page(request, "new_password", title=_("Set a new password"), form=form, email=result.user.email)


@sensitive_variables("password")
def set_password(request: HttpRequest, opened: mails.Opened, password: str) -> bool:
    """The second factor stays: a mailbox alone does not give access to the portal."""
    with transaction.atomic():
        mails.use(opened, at=timezone.now())
        staff.set_password(user=opened.user, password=password, at=timezone.now())
        setup.notify(request, opened.user, gettext_noop("Password set with a link sent to this address"))
    return True


@private
@sensitive_post_parameters("password")
def remove_factors(request: HttpRequest, token: str) -> HttpResponse:
    """The page of a link that an owner had sent to a colleague who lost their factors. It requires the colleague's
    password, so neither the owner nor the mailbox alone removes anything."""
    try:
        result = mails.opened(kind=StaffMail.Kind.FACTORS_LINK, token=token)
    except Invalid as error:
        return render_page(request, "link_ended", title=_("Remove second factors"), message=error.message)
    form = PasswordForm(request.POST or None)
    wrong = _("The password is wrong.")
    if form.is_valid() and tried(form, lambda: removed(request, result, form.cleaned_data["password"]), wrong):
        return redirect("admin:login")
    return render_page(request, "remove_factors", title=_("Remove second factors"), form=form, email=result.user.email)


@sensitive_variables("password")
def removed(request: HttpRequest, opened: mails.Opened, password: str) -> bool:
    steps.count_try(opened.user)
    if not opened.user.check_password(password):
        return False
    with transaction.atomic():
        mails.use(opened, at=timezone.now())
        factors.remove_all(user=opened.user)
        setup.notify(request, opened.user, gettext_noop("All second factors removed with a link sent to this address"))
    sessions.end_other_sessions(user=opened.user, current_key=None)
    return True
