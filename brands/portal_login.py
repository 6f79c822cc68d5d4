"""The portal's login form: passwords are tried there as often as at the API's login, and no more."""

from typing import Any

from django.core.exceptions import ValidationError

from brands import limits
from brands.refusals import Refused
from brands.unfolded import AuthenticationForm


class LoginForm(AuthenticationForm):
    """What settings.UNFOLD["LOGIN"]["form"] names."""

    def clean(self) -> dict[str, Any]:
        assert self.request is not None  # noqa: S101 - the site always gives it
        try:
            limits.hit("login", "address", limits.client_address(self.request))
            limits.hit("login", "email", self.cleaned_data.get("username", "").lower())
        except Refused as refusal:
            raise ValidationError(refusal.message) from refusal
        return super().clean()
