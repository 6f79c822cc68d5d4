"""Refresh tokens rotate once; a second use ends the session, and so does the end of the user's access."""

from datetime import timedelta

import jwt
import pytest
from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from brands.identity import tokens
from brands.identity.tokens import Principal
from brands.models.credentials import LoginSession
from core.errors import TokenInvalid
from tests.brands.identity.conftest import rotate, signed

# --- Refresh ---------------------------------------------------------------------------------------------------------


def test_rotation_returns_a_new_pair_of_the_same_session(pair, customer, brand):
    successor = rotate(pair.refresh)

    assert successor.refresh != pair.refresh
    assert successor.session_id == pair.session_id
    assert tokens.verify_access(successor.access) == Principal(user_id=customer.pk, brand_id=brand.pk)
    assert rotate(successor.refresh)


def test_rotation_extends_the_session(pair):
    later = timezone.now() + timedelta(days=settings.REFRESH_TOKEN_DAYS - 1)

    tokens.rotate(refresh=pair.refresh, at=later)

    assert LoginSession.objects.get().expires_at == later + timedelta(days=settings.REFRESH_TOKEN_DAYS)


def test_session_expires_without_a_refresh(pair):
    with pytest.raises(TokenInvalid):
        tokens.rotate(refresh=pair.refresh, at=timezone.now() + timedelta(days=settings.REFRESH_TOKEN_DAYS, seconds=1))


def test_ended_sessions_are_purged_and_active_ones_stay(customer, brand):
    long_ago = timezone.now() - timedelta(days=400)
    tokens.issue(user=customer, brand=brand, at=long_ago)
    alive = tokens.issue(user=customer, brand=brand, at=timezone.now())

    assert tokens.purge_ended(at=timezone.now()) == 1
    assert str(LoginSession.objects.get().pk) == alive.session_id


def test_new_password_ends_every_session(pair, customer):
    customer.set_password("another battery staple")
    customer.save()

    with pytest.raises(TokenInvalid):
        rotate(pair.refresh)


def test_refresh_of_a_deactivated_user_is_rejected(pair, customer):
    customer.is_active = False
    customer.save(update_fields=["is_active"])

    with pytest.raises(TokenInvalid):
        rotate(pair.refresh)


def test_refresh_of_a_deleted_user_is_rejected(pair, customer):
    customer.points_rows.all().delete()
    customer.delete()

    with pytest.raises(TokenInvalid):
        rotate(pair.refresh)


@pytest.mark.parametrize("session", ["no uuid", 7, None, "00000000-0000-4000-8000-000000000000"])
def test_refresh_of_an_unknown_session_is_rejected(db, session):
    with pytest.raises(TokenInvalid):
        rotate(signed(token_type="refresh", sid=session, jti="x"))


def test_revoked_session_cannot_be_refreshed(pair):
    tokens.revoke(refresh=pair.refresh, at=timezone.now())

    with pytest.raises(TokenInvalid):
        rotate(pair.refresh)


def test_revoking_again_does_not_change_the_time_of_revocation(pair):
    first = timezone.now()
    tokens.revoke(refresh=pair.refresh, at=first)
    tokens.revoke(refresh=pair.refresh, at=first + timedelta(hours=1))

    assert LoginSession.objects.get().revoked_at == first


def test_expired_token_still_revokes_its_session(customer, brand):
    long_ago = timezone.now() - timedelta(days=settings.REFRESH_TOKEN_DAYS + 1)
    pair = tokens.issue(user=customer, brand=brand, at=long_ago)

    tokens.revoke(refresh=pair.refresh, at=timezone.now())

    assert LoginSession.objects.get().revoked_at


def test_forged_token_revokes_nothing(pair):
    with pytest.raises(TokenInvalid):
        tokens.revoke(refresh=pair.refresh[:-4] + "AAAA", at=timezone.now())

    assert LoginSession.objects.get().revoked_at is None


def jti_of(pair):
    return jwt.decode(pair.refresh, options={"verify_signature": False})["jti"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("later", [tokens.SAME_ANSWER_WITHIN, timedelta(0)])
def test_last_token_gets_the_same_successor_again_for_a_moment(pair, later):
    """The first answer was lost, or two requests sent the token at once."""
    at = timezone.now()
    first = tokens.rotate(refresh=pair.refresh, at=at)

    again = tokens.rotate(refresh=pair.refresh, at=at + later)

    assert jti_of(again) == jti_of(first) != jti_of(pair)
    assert tokens.verify_access(again.access)
    assert not LoginSession.objects.get().revoked_at


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("rotations", [0, 1], ids=["too late", "not the last one"])
def test_second_use_of_a_refresh_token_revokes_the_whole_session(pair, rotations):
    at = timezone.now()
    successor = tokens.rotate(refresh=pair.refresh, at=at)
    for _ in range(rotations):
        successor = tokens.rotate(refresh=successor.refresh, at=at)
    later = timedelta(0) if rotations else tokens.SAME_ANSWER_WITHIN + timedelta(seconds=1)

    with pytest.raises(TokenInvalid):
        tokens.rotate(refresh=pair.refresh, at=at + later)

    assert LoginSession.objects.get().revoked_at
    with pytest.raises(TokenInvalid):
        rotate(successor.refresh)


@pytest.mark.django_db(transaction=True)
def test_last_token_of_a_revoked_session_gets_no_successor_again(pair):
    rotate(pair.refresh)
    tokens.revoke(refresh=pair.refresh, at=timezone.now())

    with pytest.raises(TokenInvalid):
        rotate(pair.refresh)


@pytest.mark.django_db(transaction=True)
def test_twenty_parallel_rotations_get_one_successor(pair, run_concurrently):
    outcomes = run_concurrently(20, lambda: rotate(pair.refresh))

    assert {jti_of(outcome) for outcome in outcomes} == {LoginSession.objects.get().current_jti}


@pytest.mark.django_db(transaction=True)
def test_control_without_the_row_lock_parallel_rotations_get_several(customer, brand, run_concurrently, monkeypatch):
    """Shows that the test above depends on the row lock."""
    monkeypatch.setattr(QuerySet, "select_for_update", lambda rows, **_: rows)

    def successors():
        pair = tokens.issue(user=customer, brand=brand, at=timezone.now())
        outcomes = run_concurrently(20, lambda: rotate(pair.refresh))
        return {jti_of(outcome) for outcome in outcomes if not isinstance(outcome, Exception)}

    assert any(len(successors()) > 1 for _ in range(20))
