"""Setting up a factor: the page that shows an app's QR code, requests a passkey, and processes either answer."""

import json
from typing import Any

from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.debug import sensitive_variables

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.models.people import User
from brands.staff_login import factors, mails, passkeys, steps
from brands.staff_login.models import Factor, StaffMail
from core import encryption, languages
from core.errors import Invalid
from portal.base.audit_mixin import audit_context
from portal.staff_login.forms import CodeForm, NewPasskeyForm
from portal.staff_login.pages import tried

KEY = "new_app"  # the seed, encrypted, in the session until its first code is entered


class FactorSetup:
    """One request for the page."""

    def __init__(self, request: HttpRequest, user: User) -> None:
        self.request, self.user = request, user
        by = request.POST.get("by") if request.method == "POST" else None
        self.form = CodeForm(request.POST if by == "app" else None)
        self.passkey_form = NewPasskeyForm(request.POST if by == "passkey" else None)

    def is_done(self) -> bool:
        """Whether a factor was added; if not, the forms show the error."""
        if self.form.is_valid() and tried(self.form, self._add_app, ""):
            return True
        return self.passkey_form.is_valid() and tried(self.passkey_form, self._add_passkey, "")

    @sensitive_variables("seed")
    def context(self) -> dict[str, Any]:
        has_app = Factor.objects.filter(user=self.user, kind=Factor.Kind.TOTP).exists()
        context: dict[str, Any] = {"form": self.form, "passkey_form": self.passkey_form, "has_app": has_app}
        if not has_app:
            seed = self._seed() or factors.new_seed()
            self.request.session[KEY] = encryption.encrypt(seed)
            grouped = " ".join(seed[start : start + 4] for start in range(0, len(seed), 4))
            context |= {"picture": factors.picture_of(seed, self.user), "seed": grouped}
        return {**context, "question": json.dumps(passkeys.registration(self.request, self.user))}

    def _seed(self) -> str:
        saved = self.request.session.get(KEY)
        return encryption.decrypt(saved) if saved else ""

    @sensitive_variables("seed")
    def _add_app(self) -> bool:
        steps.count_try(self.user)
        seed = self._seed()
        if not seed:
            raise Invalid(_("The code has expired. Scan the new one."))
        with transaction.atomic():
            made = factors.add_app(user=self.user, seed=seed, code=self.form.cleaned_data["code"], at=timezone.now())
            notify_added(self.request, self.user, made)
        self.request.session.pop(KEY, None)
        return True

    def _add_passkey(self) -> bool:
        cleaned = self.passkey_form.cleaned_data
        with transaction.atomic():
            made = passkeys.register(self.request, self.user, name=cleaned["name"], answer=cleaned["credential"])
            notify_added(self.request, self.user, made)
        return True


def notify_added(request: HttpRequest, user: User, factor: Factor) -> None:
    notify(request, user, gettext_noop("Second factor added: %(factor)s"), factor=factor)


def notify(request: HttpRequest, user: User, message: str, **values: Any) -> None:
    """Record a message in the audit log of each brand that the user works for, in English, and mail it in the user's
    language.

    `message` is marked with gettext_noop; `values` are its placeholders.
    """
    brands: list[int | None] = list(user.staff_roles.values_list("brand_id", flat=True)) or [None]
    done = audit_context(request)
    with transaction.atomic():
        by = AuditContext(user, done.at, done.request_id)
        with languages.in_english():
            action = message % values
        audit_log.record(audit_context=by, action=action, rows=[AuditedChange(user, brand_id) for brand_id in brands])
        mails.write(
            user=user,
            kind=StaffMail.Kind.NOTIFICATION,
            origin=mails.origin_or_none(request),
            text=lambda: f"{_(message) % values}.",
        )
