"""Calls to external servers over TLS: certificates, and slow handshakes."""

import socket
import ssl
import threading
import time
from contextlib import contextmanager
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.utils import timezone

from core.http import client
from tests.core.http.conftest import server

pytestmark = pytest.mark.usefixtures("loopback_allowed")


@pytest.fixture(scope="module")
def certificate_files(tmp_path_factory):
    """Files of a self-signed certificate for `shop.example` only, and of its key."""
    folder, key = tmp_path_factory.mktemp("tls"), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "shop.example")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 7)
        .not_valid_before(timezone.now() - timedelta(days=1))
        .not_valid_after(timezone.now() + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("shop.example")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    unencrypted = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key").write_bytes(key.private_bytes(serialization.Encoding.PEM, *unencrypted))
    (folder / "certificate").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return folder / "certificate", folder / "key"


@contextmanager
def tls_server(certificate_files):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate_files)
    seen = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            connection, _ = listener.accept()
            try:
                with context.wrap_socket(connection, server_side=True) as secure:
                    seen.append(secure.recv(65536))
                    secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            except OSError:
                connection.close()

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1], seen


def resolve_to_loopback(monkeypatch):
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda _host, *arguments, **options: real("127.0.0.1", *arguments, **options)
    )


def test_certificate_for_the_host_is_accepted(certificate_files, monkeypatch):
    resolve_to_loopback(monkeypatch)
    with tls_server(certificate_files) as (port, seen):
        tls_context = ssl.create_default_context(cafile=certificate_files[0])
        answer = client.send("GET", f"https://shop.example:{port}/", tls=tls_context)

    assert (answer.status, len(seen)) == (200, 1)


def test_certificate_for_another_host_is_rejected(certificate_files, monkeypatch):
    resolve_to_loopback(monkeypatch)
    with tls_server(certificate_files) as (port, seen):
        tls_context = ssl.create_default_context(cafile=certificate_files[0])
        with pytest.raises(client.RequestFailedError, match="Hostname mismatch"):
            client.send("GET", f"https://bank.example:{port}/", tls=tls_context)

    assert seen == []


def test_certificate_of_an_unknown_authority_is_rejected(certificate_files, monkeypatch):
    resolve_to_loopback(monkeypatch)
    with (
        tls_server(certificate_files) as (port, seen),
        pytest.raises(client.RequestFailedError, match="self-signed certificate"),
    ):
        client.send("GET", f"https://shop.example:{port}/")

    assert seen == []


def test_slow_handshake_is_cut_off_at_the_deadline():
    with server(*[b"\x16"] * 200, pause=0.05) as (url, _):
        began = time.monotonic()
        with pytest.raises(client.RequestFailedError):
            client.send("GET", url.replace("http:", "https:"), timeout_seconds=0.3)

    assert time.monotonic() - began < 5
