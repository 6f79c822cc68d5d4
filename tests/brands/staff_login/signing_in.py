"""Steps of a user on the sign-in pages."""

import re
from typing import Any

import pyotp
from django.core import mail
from django.test import Client
from django.utils import timezone

from brands.models.people import User
from brands.staff_login import factors, mails
from tests.support import factories

PORTAL = "/admin/"


def submit_password(web_client: Client, user: User, password: str = factories.PASSWORD) -> Any:
    return web_client.post("/admin/login/", {"username": user.email, "password": password, "next": PORTAL})


def is_logged_in(web_client: Client) -> bool:
    return bool(web_client.get(PORTAL).status_code == 200)


def add_app(user: User) -> str:
    """Add an authenticator app to `user`, last used long ago, and return its seed."""
    seed = factors.new_seed()
    code = pyotp.TOTP(seed).now()
    factor = factors.add_app(user=user, seed=seed, code=code, at=timezone.now())
    factor.last_counter = 0
    factor.save(update_fields=["last_counter"])
    return seed


def code_of(seed: str) -> str:
    return pyotp.TOTP(seed).now()


def links_sent() -> list[str]:
    """Send the mails that are due, and return the links in them."""
    mails.send_due(at=timezone.now())
    return [link for each in mail.outbox for link in re.findall(r"https?://testserver(/\S+)", str(each.body))]
