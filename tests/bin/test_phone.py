"""bin/run --phone serves at an address that a phone in the same network can open, or fails without one."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "bin"))

import launcher  # noqa: E402
import phone  # noqa: E402
from embedded.datadir import ServerError  # noqa: E402


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("HOST", "HTTPS", "PORT", "PORTAL_URL", "ALLOWED_HOSTS"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def site(*, for_phones=True):
    return launcher.Site.from_environment(for_phones=for_phones)


def test_local_address_belongs_to_this_machine():
    try:
        address = phone.local_address()
    except ServerError as error:
        pytest.skip(str(error))

    with socket.create_server((address, 0)):
        assert not address.startswith("127.")


def test_url_environment_and_command_use_the_host(environment):
    environment.setenv("HOST", "192.0.2.7")
    environment.setenv("PORT", "8400")
    phone_site = site()

    assert phone_site.url == "http://192.0.2.7:8400"
    expected = {
        "HOST": "192.0.2.7",
        "PORT": "8400",
        "HTTPS": "0",
        "PORTAL_URL": "http://192.0.2.7:8400",
        "ALLOWED_HOSTS": "localhost,.localhost,127.0.0.1,[::1],192.0.2.7",
    }
    assert expected.items() <= phone_site.environment.items()
    assert "--host 192.0.2.7 --port 8400" in " ".join(launcher.commands(phone_site)["web"])


def test_allowed_hosts_and_portal_url_of_the_environment_are_retained(environment):
    environment.setenv("HOST", "192.0.2.7")
    environment.setenv("ALLOWED_HOSTS", "tea.example.com")
    environment.setenv("PORTAL_URL", "http://tea.example.com")
    variables = site().environment

    assert (variables["ALLOWED_HOSTS"], variables["PORTAL_URL"]) == (
        "tea.example.com,192.0.2.7",
        "http://tea.example.com",
    )


def test_site_without_the_option_is_local():
    local_site = site(for_phones=False)

    assert local_site.url == "http://127.0.0.1:8000"
    assert local_site.environment["ALLOWED_HOSTS"] == launcher.LOCAL["ALLOWED_HOSTS"]
    assert "PORTAL_URL" not in local_site.environment


def test_https_is_rejected(environment):
    environment.setenv("HTTPS", "1")

    with pytest.raises(ServerError, match="--phone serves http, and HTTPS is on"):
        site()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::1", "localhost"])  # noqa: S104
def test_host_that_a_phone_cannot_open_is_rejected(environment, host):
    environment.setenv("HOST", host)

    with pytest.raises(ServerError, match=f"a phone can open; {host} is none"):
        site()


@pytest.mark.parametrize(
    ("destination", "message"),
    [(("255.255.255.255", 9), "finds no network"), (("127.0.0.1", 9), "127.0.0.1 is none")],
    ids=["no route", "loopback only"],
)
def test_machine_without_a_network_is_rejected(destination, message):
    with pytest.raises(ServerError, match=message):
        phone.local_address(destination)


def test_command_reports_the_error_before_it_starts_anything(tmp_path):
    environment = {"PATH": os.environ["PATH"], "HTTPS": "1", "DATA_DIR": str(tmp_path / "data")}
    command = [sys.executable, str(PROJECT / "bin" / "launcher.py"), "--phone"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)

    assert result.returncode == 1
    assert result.stderr.startswith("bin/run: --phone serves http, and HTTPS is on")
    assert not (tmp_path / "data").exists()
