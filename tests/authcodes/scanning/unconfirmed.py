"""Helpers for scans of customers whose e-mail address is not confirmed yet."""

from django.utils import timezone

from loyalty.members import confirmations
from tests.support import factories


def confirm(customer, brand):
    verification = confirmations.begin_verification(user=customer, brand=brand, at=timezone.now())
    confirmations.confirm(
        user=customer, brand_id=brand.pk, code=confirmations.code_of(verification.pk), at=timezone.now()
    )


def points_of(customer, brand):
    return factories.account(customer, brand).points


def statuses_of(response):
    body = response.json()
    return body["status"], body["reason"], "unconfirmed" if waits_for_confirmation(body) else body["points_status"]


def waits_for_confirmation(body):
    """Whether the answer has pending points that wait for a confirmed address."""
    return (body["points_status"], body.get("waits_for")) == ("pending", "confirmed_email")
