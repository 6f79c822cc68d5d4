"""Keys of other services are stored encrypted, and stay readable when the platform's own secret changes."""

import base64

import pytest
from django.core.exceptions import ImproperlyConfigured

from core import encryption

FIRST, SECOND = "a" * 32, "b" * 32


def test_stored_text_is_unreadable_and_can_be_decrypted(settings):
    settings.STORAGE_SECRETS = {1: FIRST}

    stored = encryption.encrypt("-----BEGIN PRIVATE KEY-----")

    assert "PRIVATE" not in stored
    assert b"PRIVATE" not in base64.urlsafe_b64decode(stored)
    assert encryption.decrypt(stored) == "-----BEGIN PRIVATE KEY-----"


def test_new_secret_encrypts_while_texts_of_the_old_one_stay_readable(settings):
    settings.STORAGE_SECRETS = {1: FIRST}
    old = encryption.encrypt("mine")
    settings.STORAGE_SECRETS = {1: FIRST, 2: SECOND}
    new = encryption.encrypt("mine")

    assert (encryption.decrypt(old), encryption.decrypt(new)) == ("mine", "mine")
    settings.STORAGE_SECRETS = {2: SECOND}
    assert encryption.decrypt(new) == "mine"
    with pytest.raises(ImproperlyConfigured, match="STORAGE_SECRETS does not open"):
        encryption.decrypt(old)


def test_encrypting_without_a_secret_raises_an_error(settings):
    settings.STORAGE_SECRETS = {}

    with pytest.raises(ImproperlyConfigured, match="STORAGE_SECRETS is missing"):
        encryption.encrypt("mine")


def test_changed_text_is_not_decrypted(settings):
    settings.STORAGE_SECRETS = {1: FIRST}
    stored = encryption.encrypt("mine")

    with pytest.raises(ImproperlyConfigured):
        encryption.decrypt(stored[:-6] + "AAAA==")
