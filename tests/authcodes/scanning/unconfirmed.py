"""Scans of customers whose address waits to be confirmed."""

from django.utils import timezone

from loyalty.members import confirmations
from tests.support import factories


def confirm(customer, brand):
    made = confirmations.begin_verification(user=customer, brand=brand, at=timezone.now())
    confirmations.confirm(user=customer, brand_id=brand.pk, code=confirmations.code_of(made.pk), at=timezone.now())


def points_of(customer, brand):
    return factories.account(customer, brand).points


def statuses_of(response):
    body = response.json()
    return body["status"], body["reason"], "unconfirmed" if waits(body) else body["points_status"]


def waits(body):
    """Whether programs are told of pending points that wait for a confirmed address."""
    return (body["points_status"], body.get("waits_for")) == ("pending", "confirmed_email")
