"""Rotation of the signing secrets that receivers share with this service."""

from datetime import datetime, timedelta

from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from core.http import webhook_signatures
from loyalty.models.signing_secret import SigningSecretModel


@sensitive_variables("secret")
def rotate(*, row: SigningSecretModel, at: datetime, grace: timedelta) -> str:
    """A new secret, which is shown once. For `grace`, requests are also signed with the old one."""
    secret = webhook_signatures.new_secret()
    with transaction.atomic():
        locked = type(row)._default_manager.select_for_update(no_key=True).get(pk=row.pk)
        locked.previous_secret, locked.previous_secret_ends_at, locked.secret = locked.secret, at + grace, secret
        locked.save(update_fields=["secret", "previous_secret", "previous_secret_ends_at"])
    return secret
