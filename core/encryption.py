"""Secrets that the platform must read again, such as third-party keys: encrypted before they reach the database."""

import base64
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import models

if TYPE_CHECKING:
    _TextField = models.TextField[str, str]
else:
    _TextField = models.TextField


class EncryptedTextField(_TextField):
    """Text that is encrypted in the database (Fernet: AES-128-CBC with HMAC-SHA256) and plain in Python.

    It cannot be searched. The newest of settings.STORAGE_SECRETS encrypts, all of them decrypt; empty stays empty.
    """

    def get_prep_value(self, value: Any) -> Any:
        return encrypt(value) if value else value

    def from_db_value(self, value: str | None, *_: Any) -> str | None:
        return decrypt(value) if value else value


def encrypt(text: str) -> str:
    """Raises ImproperlyConfigured when STORAGE_SECRETS is missing."""
    return keys(tuple(sorted(settings.STORAGE_SECRETS.items()))).encrypt(text.encode()).decode()


def decrypt(token: str) -> str:
    """Raises ImproperlyConfigured when none of the STORAGE_SECRETS decrypts it."""
    try:
        return keys(tuple(sorted(settings.STORAGE_SECRETS.items()))).decrypt(token.encode()).decode()
    except InvalidToken:
        message = "STORAGE_SECRETS does not open what is stored: the secret that encrypted it is missing"
        raise ImproperlyConfigured(message) from None


@lru_cache(maxsize=4)
def keys(secrets: tuple[tuple[int, str], ...]) -> MultiFernet:
    if not secrets:
        message = "STORAGE_SECRETS is missing: name a version and a secret, such as 1:<at least 32 random characters>"
        raise ImproperlyConfigured(message)
    return MultiFernet([Fernet(derived(secret)) for _, secret in reversed(secrets)])


def derived(secret: str) -> bytes:
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"loyalty storage secrets").derive(secret.encode())
    return base64.urlsafe_b64encode(key)
