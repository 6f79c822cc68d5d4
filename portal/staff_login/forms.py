"""The forms of sign-in pages."""

from typing import Any

from django import forms
from django.contrib.auth.forms import SetPasswordMixin
from django.utils.translation import gettext_lazy as _

from brands.models.people import StaffRole
from portal.unfold import PasswordWidget, TextWidget

CODE = {"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false", "autofocus": True}


class CodeForm(forms.Form):
    """A code from an authenticator app or, at a login, a recovery code."""

    code = forms.CharField(label=_("Code"), max_length=20, widget=TextWidget(attrs=CODE))


class PasskeyForm(forms.Form):
    """The passkey's answer, filled in by the browser's script."""

    credential = forms.CharField(max_length=20_000, widget=forms.HiddenInput)


class NewPasskeyForm(PasskeyForm):
    name = forms.CharField(
        label=_("Name"), max_length=60, required=False, widget=TextWidget(attrs={"placeholder": _("My laptop")})
    )


class PasswordForm(forms.Form):
    password = forms.CharField(
        label=_("Password"),
        max_length=256,
        strip=False,
        widget=PasswordWidget(attrs={"autocomplete": "current-password", "autofocus": True}),
    )


class ForgotForm(forms.Form):
    email = forms.EmailField(
        label=_("E-mail"), max_length=254, widget=TextWidget(attrs={"autocomplete": "username", "autofocus": True})
    )

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        return email.lower()


class NewPasswordForm(SetPasswordMixin, forms.Form):  # type: ignore[type-arg] # generic in the stubs only
    password1 = forms.CharField(
        label=_("New password"),
        max_length=256,
        strip=False,
        widget=PasswordWidget(attrs={"autocomplete": "new-password", "autofocus": True}),
    )
    password2 = forms.CharField(
        label=_("New password again"),
        max_length=256,
        strip=False,
        widget=PasswordWidget(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, user: Any, *args: Any, **options: Any) -> None:
        self.user = user
        super().__init__(*args, **options)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        self.validate_passwords()
        self.validate_password_for_user(self.user, "password1")
        return cleaned


class RoleMixin:
    """Presets no role in a form: a user who overlooks the field must not create an owner."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        fields: dict[str, Any] = self.fields  # type: ignore[attr-defined]
        if "role" in fields and not self.instance.pk:  # type: ignore[attr-defined]
            fields["role"].choices = [("", _("Choose a role")), *StaffRole.Role.choices]


class JoinForm(NewPasswordForm):
    """The form for a person without an account."""

    first_name = forms.CharField(
        label=_("First name"),
        max_length=150,
        required=False,
        widget=TextWidget(attrs={"autocomplete": "given-name", "autofocus": True}),
    )
    last_name = forms.CharField(
        label=_("Last name"), max_length=150, required=False, widget=TextWidget(attrs={"autocomplete": "family-name"})
    )
    field_order = ("first_name", "last_name", "password1", "password2")
