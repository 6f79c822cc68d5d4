"""Receivers that know us by a secret: the one in use, and for a while the one before it."""

from datetime import datetime, timedelta

from django.db import models
from django.utils.translation import gettext_lazy as _

from core.encryption import EncryptedTextField
from core.moments import MomentField


class SigningSecretModel(models.Model):
    """A row whose requests are signed. Both secrets are kept encrypted, and shown to nobody again."""

    secret = EncryptedTextField(editable=False)
    previous_secret = EncryptedTextField(blank=True, editable=False)
    previous_secret_ends_at = MomentField(_("previous secret ends at"), null=True, blank=True, editable=False)

    class Meta:
        abstract = True

    def secrets_in_use(self, at: datetime) -> list[str]:
        """The newest first; the one before it too, while its time lasts."""
        ends_at = self.previous_secret_ends_at
        before = [self.previous_secret] if self.previous_secret and ends_at and ends_at > at else []
        return [self.secret, *before]

    def rotate(self, *, secret: str, at: datetime, grace: timedelta) -> None:
        """The new secret takes the place of the one in use, which is good for `grace` longer. Saves nothing."""
        self.previous_secret, self.previous_secret_ends_at = self.secret, at + grace
        self.secret = secret
