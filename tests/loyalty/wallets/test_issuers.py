"""Certificates and keys of wallet issuers: validation, error messages, and storage in database or file."""

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives import serialization
from django.apps import apps
from django.db import connection
from django.utils import timezone

from core.errors import Invalid
from loyalty.models.wallets import Platform, WalletIssuer, WalletPass
from loyalty.wallets import issuers, passes
from loyalty.wallets.apple import certificates
from loyalty.wallets.errors import WalletUnavailable
from loyalty.wallets.google import issuer_keys
from tests.support import factories
from tests.support.fakes import slow_keys, wallets
from tests.support.fakes.wallets import DAY, ec_key, pass_certificate, pem, rsa_key, service_account, text, upload

NOW = datetime.now(tz=UTC)


def rejection(files):
    with pytest.raises(Invalid) as raised:
        certificates.read(files, at=timezone.now())
    return raised.value.details["field"], raised.value.message


# --- Apple -----------------------------------------------------------------------------------------------------------


def test_pem_der_and_p12_give_the_same_keys():
    der = serialization.Encoding.DER
    as_der = upload(
        certificate=pass_certificate().public_bytes(der),
        authority=wallets.wwdr().public_bytes(der),
        key=rsa_key("pass").private_bytes(
            der, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
        ),
        password="secret",
    )
    as_p12 = upload(certificate=wallets.p12("secret"), key=b"", password="secret")

    all_keys = [certificates.read(files, at=timezone.now()) for files in (upload(), as_der, as_p12)]

    assert {(keys.identifier, keys.team, keys.private_key) for keys in all_keys} == {
        (wallets.PASS_TYPE, wallets.TEAM, pem(rsa_key("pass")).decode())
    }


INVALID_UPLOADS = {
    "no certificate": (lambda: {"certificate": b"nonsense"}, "certificate", "certificate cannot be read"),
    "an empty file": (lambda: {"certificate": b""}, "certificate", "certificate cannot be read"),
    "a key for a certificate": (
        lambda: {"certificate": pem(rsa_key("pass"))},
        "certificate",
        "certificate cannot be read",
    ),
    "no key": (lambda: {"key": b"nonsense"}, "key", "private key cannot be read"),
    "key of another certificate": (lambda: {"key": pem(rsa_key("other"))}, "key", "does not belong to the certificate"),
    "a key of another kind": (lambda: {"key": pem(ec_key("x"))}, "key", "RSA"),
    "p12, wrong password": (
        lambda: {"certificate": wallets.p12("a"), "key": b"", "password": "b"},
        "certificate",
        "password",
    ),
    "invalid p12": (lambda: {"certificate": b"0\x82", "key": b""}, "certificate", "PKCS #12"),
    "no pass type": (
        lambda: {"certificate": text(pass_certificate("com.example.app"))},
        "certificate",
        "Pass Type ID",
    ),
    "no team": (lambda: {"certificate": text(pass_certificate(team=""))}, "certificate", "no team"),
    "expired": (lambda: {"certificate": text(pass_certificate(ends=NOW - DAY))}, "certificate", "expired on"),
    "not valid yet": (lambda: {"certificate": text(pass_certificate(begins=NOW + DAY))}, "certificate", "before"),
    "another authority": (lambda: {"authority": text(wallets.root())}, "authority", "did not sign"),
    "no authority": (lambda: {"authority": b""}, "authority", "certificate cannot be read"),
    "push key, no id": (lambda: {"push_key": pem(ec_key("push"))}, "push_key_id", "ten capital"),
    "push key of RSA": (
        lambda: {"push_key": pem(rsa_key("x")), "push_key_id": "ABCDEFGHIJ"},
        "push_key",
        "ES256",
    ),
    "a huge key": (lambda: {"key": slow_keys.plain(slow_keys.rsa_key(2_203, 2_281))}, "key", "2048 to 4096 bits"),
    "a huge push key": (
        lambda: {"push_key": slow_keys.plain(slow_keys.rsa_key(2_203, 2_281)), "push_key_id": "ABCDEFGHIJ"},
        "push_key",
        "2048 to 4096 bits",
    ),
    "push id, no key": (lambda: {"push_key_id": "ABCDEFGHIJ"}, "push_key", "Upload the key"),
}


@pytest.mark.parametrize(("changes", "field", "expected_text"), INVALID_UPLOADS.values(), ids=INVALID_UPLOADS)
def test_invalid_upload_is_an_error_of_its_field(changes, field, expected_text):
    invalid_field, message = rejection(upload(**changes()))

    assert invalid_field == field
    assert expected_text in message


def test_expiry_is_that_of_the_first_certificate_to_expire():
    keys = certificates.read(upload(certificate=text(pass_certificate(ends=NOW + 20 * DAY))), at=timezone.now())

    assert keys.expires_at.date() == (NOW + 20 * DAY).date()


# --- Google ----------------------------------------------------------------------------------------------------------

INVALID_ACCOUNTS = {
    "no JSON": (b"nonsense", "123456", "service_account"),
    "a list": (b"[]", "123456", "service_account"),
    "deep": (b"[" * 100_000, "123456", "service_account"),
    "another kind": (service_account(type="authorized_user"), "123456", "service_account"),
    "no key": (service_account(private_key=""), "123456", "service_account"),
    "a huge key": (
        service_account(private_key=slow_keys.plain(slow_keys.rsa_key(2_203, 2_281)).decode()),
        "123456",
        "service_account",
    ),
    "an EC key": (service_account(private_key=pem(ec_key("x")).decode()), "123456", "service_account"),
    "a key of no characters": (service_account(private_key="\ud800"), "123456", "service_account"),
    "no address": (service_account(client_email="x"), "123456", "service_account"),
    "no issuer": (service_account(), "abc", "issuer_id"),
}


@pytest.mark.parametrize(("content", "issuer_id", "field"), INVALID_ACCOUNTS.values(), ids=INVALID_ACCOUNTS)
def test_invalid_service_account_is_an_error_of_its_field(content, issuer_id, field):
    with pytest.raises(Invalid) as raised:
        issuer_keys.read(content, issuer_id)

    assert raised.value.details["field"] == field


# --- Storage ---------------------------------------------------------------------------------------------------------


def test_keys_are_encrypted_in_the_database(brand):
    wallets.apple(brand, token=True)
    wallets.google(brand)

    with connection.cursor() as cursor:
        cursor.execute("SELECT private_key, push_key FROM loyalty_walletissuer")
        assert not any("PRIVATE" in value for row in cursor.fetchall() for value in row)
    assert "PRIVATE KEY" in issuers.usable(brand_id=brand.pk, platform="apple", at=timezone.now()).for_apple.push_key


def test_keys_of_another_pass_type_are_rejected_once_passes_were_issued(brand, account):
    wallets.apple(brand)
    wallets.apple(brand, identifier="pass.com.example.other")
    passes.issue(account=account, platform="apple", at=timezone.now())

    with pytest.raises(Invalid, match=r"Passes have already been issued under pass\.com\.example\.other"):
        wallets.apple(brand)
    assert wallets.apple(brand, identifier="pass.com.example.other").identifier == "pass.com.example.other"


@pytest.fixture
def write_key_file(brand, settings, tmp_path):
    """Writes keys of the brand into the directory of the setting WALLET_KEYS_DIR."""
    settings.WALLET_KEYS_DIR = str(tmp_path)

    def write(content, platform="apple"):
        (tmp_path / str(brand.pk)).mkdir(exist_ok=True)
        (tmp_path / str(brand.pk) / f"{platform}.json").write_text(json.dumps(content))

    return write


def key_file_content(**changes):
    files = upload(**changes)
    return {
        "certificate": files.certificate.decode(),
        "key": files.key.decode(),
        "authority": base64.b64encode(wallets.wwdr().public_bytes(serialization.Encoding.DER)).decode(),
    }


def test_keys_in_a_file_are_used_without_storing_them(brand, write_key_file):
    write_key_file(key_file_content())
    write_key_file({"issuer_id": wallets.ISSUER_ID, "service_account": json.loads(service_account())}, "google")

    for platform in Platform.values:
        issuer = issuers.usable(brand_id=brand.pk, platform=platform, at=timezone.now())
        assert (issuer.apple or issuer.for_google.account).private_key
    assert set(WalletIssuer.objects.values_list("private_key", "push_key")) == {("", "")}
    assert WalletIssuer.objects.get(platform="apple").expires_at is not None


def test_brand_cannot_use_the_keys_of_another_brand_by_taking_its_slug(brand, write_key_file, tmp_path):
    """Regression: after an owner changed the slug, passes were signed with another brand's key."""
    other_brand = factories.brand(slug="victim")
    for name in (f"{other_brand.slug}.apple.json", f"{other_brand.pk}.apple.json"):
        (tmp_path / name).write_text(json.dumps(key_file_content()))
    other_brand.slug = "elsewhere"
    other_brand.save()
    brand.slug = "victim"
    brand.save()

    for brand_without_keys in (brand, other_brand):
        with pytest.raises(WalletUnavailable):
            issuers.usable(brand_id=brand_without_keys.pk, platform="apple", at=timezone.now())
    assert not WalletIssuer.objects.exists()


def test_brand_keeps_its_keys_when_its_slug_changes(brand, write_key_file):
    write_key_file(key_file_content())
    brand.slug = "another"
    brand.save()

    assert issuers.usable(brand_id=brand.pk, platform="apple", at=timezone.now()).for_apple.private_key


def test_files_named_after_slugs_are_logged_at_startup(tmp_path, settings, caplog):
    settings.WALLET_KEYS_DIR = str(tmp_path)
    (tmp_path / "acme.apple.json").write_text("{}")

    apps.get_app_config("loyalty").ready()

    assert "acme.apple.json is not read" in caplog.text
    assert "move it to <brand id>/apple.json" in caplog.text


def test_changed_file_is_read_again(brand, write_key_file):
    write_key_file(key_file_content())
    first = issuers.usable(brand_id=brand.pk, platform="apple", at=timezone.now())
    write_key_file(key_file_content(certificate=text(pass_certificate(ends=NOW + 90 * DAY))))

    second = issuers.usable(brand_id=brand.pk, platform="apple", at=timezone.now())

    assert first.for_apple.expires_at != second.for_apple.expires_at
    assert WalletIssuer.objects.get().expires_at == second.for_apple.expires_at


def test_expired_certificate_in_a_file_makes_the_wallet_unavailable(brand, write_key_file):
    write_key_file(key_file_content(certificate=text(pass_certificate(ends=NOW - timedelta(hours=1)))))

    with pytest.raises(WalletUnavailable) as raised:
        issuers.usable(brand_id=brand.pk, platform="apple", at=timezone.now())
    assert raised.value.details == {"reason": "expired"}


@pytest.mark.parametrize("content", [[], "x", {}, {"certificate": 5}, {"certificate": "x", "key": "y"}])
@pytest.mark.parametrize("platform", Platform.values)
def test_invalid_file_makes_the_wallet_unavailable_as_unreadable(brand, write_key_file, content, platform):
    write_key_file(content, platform)

    with pytest.raises(WalletUnavailable) as raised:
        issuers.usable(brand_id=brand.pk, platform=platform, at=timezone.now())
    assert raised.value.details == {"reason": "unreadable"}


def test_file_of_another_brand_is_not_used(write_key_file):
    write_key_file(key_file_content())

    with pytest.raises(WalletUnavailable):
        issuers.usable(brand_id=factories.brand().pk, platform="apple", at=timezone.now())


def test_error_texts_with_characters_invalid_in_postgresql_are_stored_readably(brand, customer):
    at = timezone.now()
    wallets.apple(brand)
    issuer = issuers.usable(brand_id=brand.pk, platform=Platform.APPLE, at=at)
    wallet_pass, _new = passes.issue(account=factories.account(customer, brand), platform=Platform.APPLE, at=at)

    issuers.note_error(issuer=issuer, error="no\0\ud800", at=at)
    passes.mark_failed(wallet_pass=wallet_pass, error="no\0\ud800", at=at)

    stored_errors = [WalletIssuer.objects.get().last_error, WalletPass.objects.get().last_error]
    assert stored_errors == ["no\N{REPLACEMENT CHARACTER}?"] * 2
