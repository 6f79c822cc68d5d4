"""Where the demo is reached: ports, hostnames and the network address."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from brands.models.tenants import BrandHostname
from tests.config.conftest import RunDemo

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("credentials_file")]


def test_port_is_remembered_for_later_runs(
    run_demo: RunDemo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PORT", "9123")
    call_command("demo")
    assert "http://localhost:9123/admin/" in capsys.readouterr().out
    monkeypatch.delenv("PORT")

    assert run_demo()["base_url"] == "http://localhost:9123"


def test_output_lists_urls_emails_and_passwords(capsys: pytest.CaptureFixture[str], credentials_file: Path) -> None:
    call_command("demo")

    printed = capsys.readouterr().out
    assert "http://localhost:8000/admin/" in printed
    assert "http://localhost:8000/api/docs" in printed
    assert "/api/v1/qr-codes/AUR-" in printed
    for email, password in json.loads(credentials_file.read_text())["passwords"].items():
        assert email in printed
        assert password in printed


def primary_hostnames() -> list[str]:
    return list(BrandHostname.objects.filter(is_primary=True).order_by("brand_id").values_list("hostname", flat=True))


def test_brands_are_reached_at_the_port_of_the_last_start(run_demo: RunDemo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "8400")
    assert run_demo()["origin"] == "http://aurora.localhost:8400"

    monkeypatch.setenv("PORT", "8500")
    run_demo()
    monkeypatch.delenv("PORT")
    output = run_demo()

    assert (output["base_url"], output["origin"]) == ("http://localhost:8500", "http://aurora.localhost:8500")
    assert primary_hostnames() == ["aurora.localhost:8500", "bistro.localhost:8500"]
    assert BrandHostname.objects.filter(hostname="aurora.localhost").exists()


def test_default_ports_are_omitted(run_demo: RunDemo, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setenv("PORT", "80")
    assert run_demo()["origin"] == "http://aurora.localhost"

    monkeypatch.setenv("PORT", "8400")
    settings.HTTPS = True  # provided by a proxy, at its own port
    assert run_demo()["origin"] == "https://aurora.localhost"


def test_first_brand_is_reached_at_the_network_address(
    run_demo: RunDemo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PORT", "8400")
    monkeypatch.setenv("HOST", "192.0.2.7")
    output = run_demo()
    assert (output["base_url"], output["origin"]) == ("http://192.0.2.7:8400", "http://192.0.2.7:8400")

    call_command("demo")
    first, second = re.findall(r"scan page +(http://\S+)  (.*)", capsys.readouterr().out)
    assert first[0].startswith("http://192.0.2.7:8400/s/")
    assert first[1] == "what a phone opens for this code"
    assert second[0].startswith("http://bistro.localhost:8400/s/")
    assert second[1] == "opens after a start without --phone"

    monkeypatch.setenv("HOST", "127.0.0.1")

    assert run_demo()["origin"] == "http://aurora.localhost:8400"


def test_hostname_changed_by_staff_is_retained(run_demo: RunDemo, monkeypatch: pytest.MonkeyPatch) -> None:
    run_demo()
    BrandHostname.objects.filter(hostname="aurora.localhost:8000").update(hostname="shop.example.com")
    monkeypatch.setenv("PORT", "8400")

    run_demo()

    assert primary_hostnames() == ["shop.example.com", "bistro.localhost:8400"]
