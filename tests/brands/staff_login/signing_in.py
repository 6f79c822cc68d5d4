"""What people do on the sign-in pages, as tests do it."""

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


def give_password(window: Client, user: User, password: str = factories.PASSWORD) -> Any:
    return window.post("/admin/login/", {"username": user.email, "password": password, "next": PORTAL})


def is_in(window: Client) -> bool:
    return bool(window.get(PORTAL).status_code == 200)


def with_app(user: User) -> str:
    """Give `user` an authenticator app whose first code was long ago. Returns its seed."""
    seed = factors.new_seed()
    code = pyotp.TOTP(seed).now()
    made = factors.add_app(user=user, seed=seed, code=code, at=timezone.now())
    made.last_counter = 0
    made.save(update_fields=["last_counter"])
    return seed


def code_of(seed: str) -> str:
    return pyotp.TOTP(seed).now()


def links_sent() -> list[str]:
    """The links of the mails that are due, once a worker has sent them."""
    mails.send_due(at=timezone.now())
    return [link for each in mail.outbox for link in re.findall(r"https?://testserver(/\S+)", str(each.body))]
