"""Uploaded keys: common ones are converted to one form; slow ones are stopped in a separate process and rejected."""

import subprocess
import sys
import time

import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PrivateFormat, pkcs12

from core.errors import Invalid, Unavailable
from core.uploads import bounded_program, key_reading, keys
from core.uploads.keys import KeyFile
from tests.support.fakes import slow_keys

UNREADABLE = "This cannot be read."


def key_file(content, *, holds="key", field="key", password=""):
    return KeyFile(field, holds, content, UNREADABLE, password)


def error_of(*files):
    with pytest.raises(Invalid) as error:
        keys.read(files)
    return error.value.details["field"], error.value.message


@pytest.fixture(scope="module")
def common_key():
    return rsa.generate_private_key(public_exponent=65_537, key_size=2048)


def test_common_key_is_converted_to_one_form_from_any_format(common_key):
    hashed = PrivateFormat.PKCS12.encryption_builder().kdf_rounds(100_000).build(b"secret")
    both = pkcs12.serialize_key_and_certificates(b"n", common_key, None, None, hashed)
    elliptic = ec.generate_private_key(ec.SECP256R1())

    key_by_field = keys.read(
        [
            key_file(slow_keys.plain(common_key), field="pem"),
            key_file(slow_keys.plain(common_key, Encoding.DER), field="der"),
            key_file(both, field="p12", holds="pkcs12", password="secret"),
            key_file(slow_keys.plain(elliptic), field="elliptic"),
        ]
    )

    assert {key_by_field[name].key for name in ("pem", "der", "p12")} == {slow_keys.plain(common_key).decode()}
    assert (key_by_field["p12"].certificate, key_by_field["elliptic"].key) == ("", slow_keys.plain(elliptic).decode())
    assert keys.load(key_by_field["pem"].key).private_numbers() == common_key.private_numbers()


SLOW_UPLOADS = {
    "hashed for hours": lambda: key_file(slow_keys.pbkdf2_key(2**31 - 1), password="x"),
    "hashed in two gigabytes": lambda: key_file(slow_keys.scrypt_key(2**21), password="x"),
    "huge": lambda: key_file(slow_keys.plain(slow_keys.rsa_key())),
}


@pytest.mark.parametrize("make_upload", SLOW_UPLOADS.values(), ids=SLOW_UPLOADS)
def test_slow_key_takes_no_time_of_this_process_and_is_rejected_with_advice(make_upload, common_key):
    upload = make_upload()
    began, own_time = time.monotonic(), time.process_time()

    field, message = error_of(key_file(slow_keys.plain(common_key), field="before"), upload)

    assert field == "key"
    assert "Export it again with usual settings: RSA with 2048 to 4096 bits or P-256" in message
    assert time.process_time() - own_time < 1
    assert time.monotonic() - began < keys.READ_SECONDS + 5


@pytest.mark.parametrize(
    "make",
    [
        lambda: rsa.generate_private_key(public_exponent=65_537, key_size=1024),  # noqa: S505 - a weak key is the case under test
        lambda: slow_keys.rsa_key(2_203, 2_281),
        lambda: ec.generate_private_key(ec.SECP521R1()),
        lambda: dsa.generate_private_key(1024),  # noqa: S505 - a weak key is the case under test
        ed25519.Ed25519PrivateKey.generate,
    ],
    ids=["RSA 1024", "RSA 4484", "P-521", "DSA", "Ed25519"],
)
def test_keys_of_unusual_kind_or_size_are_rejected(make):
    assert "unusual kind or size" in error_of(key_file(slow_keys.plain(make())))[1]


def test_certificate_for_a_key_of_unusual_size_is_rejected():
    content = slow_keys.certificate(slow_keys.rsa_key(2_203, 2_281))

    assert "unusual kind or size" in error_of(key_file(content, holds="certificate"))[1]


@pytest.mark.parametrize("holds", ["key", "certificate", "pkcs12"])
def test_invalid_content_is_rejected_with_the_message_of_the_upload(holds):
    assert error_of(key_file(b"nonsense", holds=holds)) == ("key", UNREADABLE)
    assert error_of(key_file(b"", holds=holds)) == ("key", UNREADABLE)


def test_upload_is_unavailable_while_other_keys_are_read(common_key, monkeypatch):
    monkeypatch.setattr(bounded_program, "TURN_SECONDS", 0.01)

    with keys.program.turn, pytest.raises(Unavailable, match="Try again in a moment"):
        keys.read([key_file(slow_keys.plain(common_key))])


def test_key_reading_program_limits_its_own_memory():
    greedy = (
        "import sys; from core.uploads import key_reading as reading; reading._key = lambda *_: bytes(2**30);"
        "reading.main(sys.stdin.buffer, sys.stdout.buffer)"
    )
    content = b'[{"holds": "key", "content": "", "password": ""}]'
    output = subprocess.run([sys.executable, "-c", greedy], input=content, capture_output=True, check=True).stdout

    assert output == b'{"unfit": "unusual"}\n'
    assert key_reading.MEMORY_BYTES < 2**30
