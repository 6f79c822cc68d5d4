"""The page of an invitation's link: new users set a password there, colleagues log in."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables

from brands.models.people import User
from brands.staff_login import factors, invitations, joining, mails, policy, sessions, steps
from brands.staff_login.models import Invitation
from core.errors import DomainError, Invalid
from portal.base.audit_mixin import audit_context
from portal.shell import login
from portal.staff_login.forms import JoinForm, NewPasswordForm
from portal.staff_login.pages import private, render_page


@private
@sensitive_post_parameters("password1", "password2")
@sensitive_variables("token")
def accept_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Viewing does not use it up: mail programs open links by themselves."""
    try:
        invitation = invitations.find_by_token(token=token, at=timezone.now())
        user = joining.account_of(invitation)
    except Invalid as error:
        return render_page(request, "link_ended", title=_("Invitation"), message=error.message)
    if user is not None and user.is_staff:
        return by_colleague(request, invitation, user)
    return by_newcomer(request, invitation, user)


@sensitive_variables()
def by_newcomer(request: HttpRequest, invitation: Invitation, user: User | None) -> HttpResponse:
    sent = request.POST or None
    form = NewPasswordForm(user, sent) if user else JoinForm(User(email=invitation.email), sent)
    if form.is_valid():
        try:
            newcomer = join(request, invitation, form)
        except DomainError as error:
            form.add_error(None, error.message)
        else:
            index = reverse("admin:index")
            step = steps.after_password(request, newcomer, next_address=index)
            messages.success(request, _("Welcome. You now work for %(brand)s.") % {"brand": invitation.brand})
            return redirect(step) if step else login.succeeded(request, redirect(index), newcomer)
    return page(request, "join", invitation, form=form, is_customer=user is not None)


@sensitive_variables()
def join(request: HttpRequest, invitation: Invitation, form: NewPasswordForm) -> User:
    cleaned = form.cleaned_data
    user, _staff_role = joining.join(
        invitation,
        password=cleaned["password1"],
        first_name=cleaned.get("first_name", ""),
        last_name=cleaned.get("last_name", ""),
        origin=mails.origin_or_none(request),
        audit_context=audit_context(request),
    )
    user.refresh_from_db()
    return user


def by_colleague(request: HttpRequest, invitation: Invitation, user: User) -> HttpResponse:
    """The invited user, logged in with a password, accepts with a button; others are sent to the login."""
    is_invited_user = request.user.pk == user.pk and sessions.scope_of(request) is None
    text = ""
    if request.method == "POST" and is_invited_user:
        try:
            joining.accept(
                invitation, user=user, origin=mails.origin_or_none(request), audit_context=audit_context(request)
            )
        except DomainError as error:
            text = error.message
        else:
            return accepted(request, invitation, user)
    login = f"{reverse('admin:login')}?{urlencode({'next': request.path})}"
    is_other_user = request.user.is_authenticated and not is_invited_user
    context = {"is_invited_user": is_invited_user, "is_other_user": is_other_user, "login": login, "message": text}
    return page(request, "accept", invitation, **context)


def accepted(request: HttpRequest, invitation: Invitation, user: User) -> HttpResponse:
    """If the brand requires a second factor, it is required at once instead of from the next login."""
    if policy.requires_second_factor(user) and not factors.has_any(user):
        sessions.end_other_sessions(user=user, current_key=None)
        request.session.flush()
        message = _("%(brand)s requires a second factor. Log in to set one up.") % {"brand": invitation.brand}
        messages.info(request, message)
        return redirect("admin:login")
    messages.success(request, _("You now work for %(brand)s.") % {"brand": invitation.brand})
    return redirect("admin:index")


def page(request: HttpRequest, template: str, invitation: Invitation, **context: Any) -> HttpResponse:
    title = _("Join %(brand)s") % {"brand": invitation.brand}
    return render_page(request, f"invitation_{template}", title=title, invitation=invitation, **context)
