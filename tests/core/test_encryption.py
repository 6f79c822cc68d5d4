"""Other people's keys lie encrypted, and stay readable when the platform's own secret changes."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from core import encryption

FIRST, SECOND = "a" * 32, "b" * 32


def test_what_is_stored_says_nothing_and_reads_back(settings):
    settings.STORAGE_SECRETS = {1: FIRST}

    stored = encryption.encrypt("-----BEGIN PRIVATE KEY-----")

    assert "PRIVATE" not in stored
    assert encryption.decrypt(stored) == "-----BEGIN PRIVATE KEY-----"


def test_a_new_version_encrypts_and_the_old_one_still_opens(settings):
    settings.STORAGE_SECRETS = {1: FIRST}
    old = encryption.encrypt("mine")
    settings.STORAGE_SECRETS = {1: FIRST, 2: SECOND}
    new = encryption.encrypt("mine")

    assert (encryption.decrypt(old), encryption.decrypt(new)) == ("mine", "mine")
    settings.STORAGE_SECRETS = {2: SECOND}
    assert encryption.decrypt(new) == "mine"
    with pytest.raises(ImproperlyConfigured, match="STORAGE_SECRETS does not open"):
        encryption.decrypt(old)


def test_without_a_secret_nothing_is_stored(settings):
    settings.STORAGE_SECRETS = {}

    with pytest.raises(ImproperlyConfigured, match="STORAGE_SECRETS is missing"):
        encryption.encrypt("mine")


def test_a_changed_text_is_not_opened(settings):
    settings.STORAGE_SECRETS = {1: FIRST}
    stored = encryption.encrypt("mine")

    with pytest.raises(ImproperlyConfigured):
        encryption.decrypt(stored[:-6] + "AAAA==")
