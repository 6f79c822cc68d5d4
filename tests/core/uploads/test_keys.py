"""Uploaded keys: usual ones come in one form; what would hold up a process is stopped elsewhere, and refused."""

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


def file(content, *, holds="key", field="key", password=""):
    return KeyFile(field, holds, content, UNREADABLE, password)


def refusal(*files):
    with pytest.raises(Invalid) as refused:
        keys.read(files)
    return refused.value.details["field"], refused.value.message


@pytest.fixture(scope="module")
def usual():
    return rsa.generate_private_key(public_exponent=65_537, key_size=2048)


def test_a_usual_key_comes_in_one_form_whatever_form_it_had(usual):
    hashed = PrivateFormat.PKCS12.encryption_builder().kdf_rounds(100_000).build(b"secret")
    both = pkcs12.serialize_key_and_certificates(b"n", usual, None, None, hashed)
    elliptic = ec.generate_private_key(ec.SECP256R1())

    found = keys.read(
        [
            file(slow_keys.plain(usual), field="pem"),
            file(slow_keys.plain(usual, Encoding.DER), field="der"),
            file(both, field="p12", holds="pkcs12", password="secret"),
            file(slow_keys.plain(elliptic), field="elliptic"),
        ]
    )

    assert {found[name].key for name in ("pem", "der", "p12")} == {slow_keys.plain(usual).decode()}
    assert (found["p12"].certificate, found["elliptic"].key) == ("", slow_keys.plain(elliptic).decode())
    assert keys.load(found["pem"].key).private_numbers() == usual.private_numbers()


SLOW = {
    "hashed for hours": lambda: file(slow_keys.hashed_often(2**31 - 1), password="x"),
    "hashed in two gigabytes": lambda: file(slow_keys.hashed_widely(2**21), password="x"),
    "huge": lambda: file(slow_keys.plain(slow_keys.rsa_key())),
}


@pytest.mark.parametrize("slow", SLOW.values(), ids=SLOW)
def test_what_takes_long_takes_no_time_of_this_process_and_is_refused_with_what_to_do(slow, usual):
    upload = slow()
    begun, own = time.monotonic(), time.process_time()

    field, message = refusal(file(slow_keys.plain(usual), field="before"), upload)

    assert field == "key"
    assert "Export it again with usual settings: RSA with 2048 to 4096 bits or P-256" in message
    assert time.process_time() - own < 1
    assert time.monotonic() - begun < keys.READ_SECONDS + 5


@pytest.mark.parametrize(
    "make",
    [
        lambda: rsa.generate_private_key(public_exponent=65_537, key_size=1024),  # noqa: S505 - that is the point
        lambda: slow_keys.rsa_key(2_203, 2_281),
        lambda: ec.generate_private_key(ec.SECP521R1()),
        lambda: dsa.generate_private_key(1024),  # noqa: S505 - the same
        ed25519.Ed25519PrivateKey.generate,
    ],
    ids=["RSA 1024", "RSA 4484", "P-521", "DSA", "Ed25519"],
)
def test_keys_of_other_kinds_and_sizes_are_refused(make):
    assert "unusual kind or size" in refusal(file(slow_keys.plain(make())))[1]


def test_a_certificate_for_such_a_key_is_refused_too():
    content = slow_keys.certificate(slow_keys.rsa_key(2_203, 2_281))

    assert "unusual kind or size" in refusal(file(content, holds="certificate"))[1]


@pytest.mark.parametrize("holds", ["key", "certificate", "pkcs12"])
def test_what_is_no_key_is_said_in_the_words_for_it(holds):
    assert refusal(file(b"nonsense", holds=holds)) == ("key", UNREADABLE)
    assert refusal(file(b"", holds=holds)) == ("key", UNREADABLE)


def test_others_are_told_while_keys_are_read(usual, monkeypatch):
    monkeypatch.setattr(bounded_program, "TURN_SECONDS", 0.01)

    with keys.program.turn, pytest.raises(Unavailable, match="Try again in a moment"):
        keys.read([file(slow_keys.plain(usual))])


def test_the_program_bounds_its_own_memory():
    greedy = (
        "import sys; from core.uploads import key_reading as reading; reading._key = lambda *_: bytes(2**30);"
        "reading.main(sys.stdin.buffer, sys.stdout.buffer)"
    )
    content = b'[{"holds": "key", "content": "", "password": ""}]'
    output = subprocess.run([sys.executable, "-c", greedy], input=content, capture_output=True, check=True).stdout

    assert output == b'{"unfit": "unusual"}\n'
    assert key_reading.MEMORY_BYTES < 2**30
