"""Signing secrets shared with receivers: the current one, and for a grace period the previous one."""

from datetime import datetime

from django.db import models
from django.utils.translation import gettext_lazy as _

from core.encryption import EncryptedTextField
from core.moments import MomentField


class SigningSecretModel(models.Model):
    """A row whose requests are signed. Both secrets are encrypted and never shown again."""

    secret = EncryptedTextField(editable=False)
    previous_secret = EncryptedTextField(blank=True, editable=False)
    previous_secret_ends_at = MomentField(_("previous secret ends at"), null=True, blank=True, editable=False)

    class Meta:
        abstract = True

    def secrets_in_use(self, at: datetime) -> list[str]:
        """Newest first. Includes the previous secret during its grace period."""
        ends_at = self.previous_secret_ends_at
        before = [self.previous_secret] if self.previous_secret and ends_at and ends_at > at else []
        return [self.secret, *before]
