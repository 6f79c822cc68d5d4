"""Helpers that open the lists of codes and scans in the portal."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from tests.support.portal import address, without_rendering

CODES, SCANS = "authcodes.authcode", "authcodes.scan"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def changelist(client: Client, label: str, **query: Any) -> Any:
    with without_rendering():
        return client.get(address(label), query).context_data["cl"]  # type: ignore[attr-defined]


def listed_rows(client: Client, label: str, **query: Any) -> list[Any]:
    return list(changelist(client, label, **query).result_list)


@pytest.fixture
def files(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    return tmp_path
