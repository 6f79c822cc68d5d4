"""Printed codes and links in e-mails lead back to the machine of the try-out."""

import io
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import zxingcpp
from django.utils import timezone
from PIL import Image

from brands.models.tenants import Brand
from loyalty.models.notifications import Channel, Language, Notification, Template
from loyalty.notifications import rendering
from loyalty.wallets import cards
from tests.support import factories
from tests.support.live_stack import ROOT, Stack


@pytest.fixture
def demo_output(stack: Stack, transactional_db: None, tmp_path: Path) -> str:
    """The output of `manage.py demo` for a service that listens at another port."""
    environment = {**stack.environment(), "PORT": str(stack.port), "DATA_DIR": str(tmp_path)}
    command = [sys.executable, "manage.py", "demo"]
    result = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def open_address(address: str) -> httpx.Response:
    """Open an address as a browser does, for which every name under .localhost is this machine."""
    parts = urlsplit(address)
    assert (parts.hostname or "").endswith("localhost"), address
    local_address = parts._replace(
        netloc=f"127.0.0.1:{parts.port or {'http': 80, 'https': 443}[parts.scheme]}"
    ).geturl()
    return httpx.get(local_address, headers={"host": parts.netloc}, timeout=20)


def test_printed_code_opens_the_scan_page(demo_output: str) -> None:
    images = re.findall(r"its QR image: (\S+)", demo_output)
    assert len(images) == 2

    for image in images:
        [symbol] = zxingcpp.read_barcodes(Image.open(io.BytesIO(open_address(image).content)))
        page = open_address(symbol.text)

        assert page.status_code == 200, symbol.text
        assert "Check your product" in page.text


def test_links_in_emails_and_passes_open(demo_output: str, settings: Any) -> None:
    settings.HTTPS = False  # as the service runs
    brand = Brand.objects.get(slug="demo-aurora")
    customer = factories.customer(brand)

    notification = Notification.objects.create(
        brand=brand, user=customer, template=Template.RECALL, opened_at=timezone.now()
    )

    for template in (Template.RECALL, Template.PASSWORD_RESET, Template.POINTS_EARNED, Template.ALREADY_REGISTERED):
        sample = rendering.sample(brand, template, Channel.EMAIL, Language.ENGLISH)
        mail = rendering.compose(replace(sample, user_id=customer.pk, notification_id=notification.pk)).text
        links = re.findall(r"http\S+", mail)
        assert links, template
        for link in links:
            answer = open_address(link)
            assert (answer.status_code, brand.name in answer.text) == (200, True), link
    assert open_address(f"{cards.design_of(brand).address}/s/").status_code == 200
