"""Other people's keys lie encrypted, and stay readable when the platform's own secret changes."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from brands import secrets

FIRST, SECOND = "a" * 32, "b" * 32


def test_what_is_stored_says_nothing_and_reads_back(settings):
    settings.STORAGE_SECRETS = {1: FIRST}

    stored = secrets.encrypt("-----BEGIN PRIVATE KEY-----")

    assert "PRIVATE" not in stored
    assert secrets.decrypt(stored) == "-----BEGIN PRIVATE KEY-----"


def test_a_new_version_encrypts_and_the_old_one_still_opens(settings):
    settings.STORAGE_SECRETS = {1: FIRST}
    old = secrets.encrypt("mine")
    settings.STORAGE_SECRETS = {1: FIRST, 2: SECOND}
    new = secrets.encrypt("mine")

    assert (secrets.decrypt(old), secrets.decrypt(new)) == ("mine", "mine")
    settings.STORAGE_SECRETS = {2: SECOND}
    assert secrets.decrypt(new) == "mine"
    with pytest.raises(ImproperlyConfigured, match="STORAGE_SECRETS does not open"):
        secrets.decrypt(old)


def test_without_a_secret_nothing_is_stored(settings):
    settings.STORAGE_SECRETS = {}

    with pytest.raises(ImproperlyConfigured, match="STORAGE_SECRETS is missing"):
        secrets.encrypt("mine")


def test_a_changed_text_is_not_opened(settings):
    settings.STORAGE_SECRETS = {1: FIRST}
    stored = secrets.encrypt("mine")

    with pytest.raises(ImproperlyConfigured):
        secrets.decrypt(stored[:-6] + "AAAA==")
