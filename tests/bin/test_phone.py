"""bin/run --phone: the address that a phone in the same network opens, and where there is none."""

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


def test_address_is_one_of_this_machine():
    try:
        found = phone.local_address()
    except ServerError as error:
        pytest.skip(str(error))

    with socket.create_server((found, 0)):
        assert not found.startswith("127.")


def test_everything_leads_to_the_address(environment):
    environment.setenv("HOST", "192.0.2.7")
    environment.setenv("PORT", "8400")
    found = site()

    assert found.url == "http://192.0.2.7:8400"
    expected = {
        "HOST": "192.0.2.7",
        "PORT": "8400",
        "HTTPS": "0",
        "PORTAL_URL": "http://192.0.2.7:8400",
        "ALLOWED_HOSTS": "localhost,.localhost,127.0.0.1,[::1],192.0.2.7",
    }
    assert expected.items() <= found.environment.items()
    assert "--host 192.0.2.7 --port 8400" in " ".join(launcher.commands(found)["web"])


def test_what_is_set_stays(environment):
    environment.setenv("HOST", "192.0.2.7")
    environment.setenv("ALLOWED_HOSTS", "tea.example.com")
    environment.setenv("PORTAL_URL", "http://tea.example.com")
    found = site().environment

    assert (found["ALLOWED_HOSTS"], found["PORTAL_URL"]) == ("tea.example.com,192.0.2.7", "http://tea.example.com")


def test_without_it_nothing_changes():
    found = site(for_phones=False)

    assert found.url == "http://127.0.0.1:8000"
    assert found.environment["ALLOWED_HOSTS"] == launcher.LOCAL["ALLOWED_HOSTS"]
    assert "PORTAL_URL" not in found.environment


def test_https_is_refused(environment):
    environment.setenv("HTTPS", "1")

    with pytest.raises(ServerError, match="--phone serves http, and HTTPS is on"):
        site()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::1", "localhost"])  # noqa: S104
def test_host_that_no_phone_opens_is_refused(environment, host):
    environment.setenv("HOST", host)

    with pytest.raises(ServerError, match=f"a phone can open; {host} is none"):
        site()


@pytest.mark.parametrize(
    ("elsewhere", "message"),
    [(("255.255.255.255", 9), "finds no network"), (("127.0.0.1", 9), "127.0.0.1 is none")],
    ids=["no way there", "alone"],
)
def test_machine_without_a_network_is_refused(elsewhere, message):
    with pytest.raises(ServerError, match=message):
        phone.local_address(elsewhere)


def test_command_says_so_before_it_starts_anything(tmp_path):
    environment = {"PATH": os.environ["PATH"], "HTTPS": "1", "DATA_DIR": str(tmp_path / "data")}
    command = [sys.executable, str(PROJECT / "bin" / "launcher.py"), "--phone"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)

    assert ended.returncode == 1
    assert ended.stderr.startswith("bin/run: --phone serves http, and HTTPS is on")
    assert not (tmp_path / "data").exists()
