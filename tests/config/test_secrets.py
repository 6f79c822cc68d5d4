"""Secrets from the environment or from files: errors name the variable and quote nothing of the secret."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import environment as env

SECRET = "s" * 50


@pytest.mark.parametrize(
    ("read", "raw"),
    [
        (lambda: env.versioned_secrets("BAD"), "hush:and another part that is long enough"),
        (lambda: env.value("BAD", "", env.redis_url), "redis://u:hush\u2100@host/0"),
        (lambda: env.database("BAD", embedded=Path("/x"), options={}), "postgres://u:hush/more@host/x"),
    ],
)
def test_error_quotes_no_part_of_a_secret(monkeypatch, read, raw):
    monkeypatch.setenv("BAD", raw)

    with pytest.raises(ImproperlyConfigured, match="BAD") as error:
        read()

    assert "hush" not in f"{error.value} {error.value.__cause__}"
    assert error.value.__cause__.__suppress_context__ or not error.value.__cause__.__context__


def test_secret_may_begin_with_a_dollar_sign(monkeypatch):
    monkeypatch.setenv("DOLLAR_SECRET", f"${SECRET}")

    assert env.secret("DOLLAR_SECRET") == f"${SECRET}"


def test_value_may_be_read_from_a_file(monkeypatch, tmp_path):
    (tmp_path / "secret").write_text(SECRET + "\n")
    monkeypatch.setenv("MY_SECRET_FILE", str(tmp_path / "secret"))

    assert env.secret("MY_SECRET") == SECRET


def test_error_for_an_unreadable_file_names_the_variable(monkeypatch):
    monkeypatch.setenv("LOST_SECRET_FILE", "/nowhere/at/all")

    with pytest.raises(ImproperlyConfigured, match="LOST_SECRET"):
        env.secret("LOST_SECRET")


def test_versioned_secrets_are_parsed(monkeypatch):
    monkeypatch.setenv("VERSIONED", f"1:{'a' * 32}, 2:{'b' * 32}")

    assert env.versioned_secrets("VERSIONED") == {1: "a" * 32, 2: "b" * 32}


def test_same_secret_may_be_there_twice(monkeypatch):
    monkeypatch.setenv("VERSIONED", f"1:{SECRET},1:{SECRET},01:{SECRET}")

    assert env.versioned_secrets("VERSIONED") == {1: SECRET}


def test_error_for_two_secrets_of_a_version_says_which_one_was_used(monkeypatch):
    monkeypatch.setenv("VERSIONED", f"1:{SECRET},1:another {SECRET}")

    with pytest.raises(ImproperlyConfigured, match="keep the last entry, which was the one used so far") as error:
        env.versioned_secrets("VERSIONED")
    assert SECRET not in str(error.value)
