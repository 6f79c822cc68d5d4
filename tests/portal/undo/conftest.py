"""A client of an owner, and helpers that use the Undo button."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from brands.models.tenants import Brand
from brands.models.undo_offers import UndoOffer
from tests.support.portal import browser, staff, text


def undo(client: Client, *, next_url: str = "/admin/") -> Any:
    """Press the button of the newest offer."""
    key = UndoOffer.objects.latest("created_at").pk
    return client.post(reverse("admin:undo", args=[key]), {"next": next_url})


def messages_of(client: Client) -> str:
    return text(client.get("/admin/"))


@pytest.fixture
def owner(brand: Brand) -> Client:
    return browser(staff(brand))
