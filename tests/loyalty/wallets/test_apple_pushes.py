"""Pushes to Apple: tokens and connections of one brand are not used for another brand's key."""

from dataclasses import replace

from loyalty.wallets.apple import push
from loyalty.wallets.apple.push import KeysRejected, PushAccepted
from tests.support.fakes import wallets

PHONE = "a" * 12


def keys_of(name):
    """Keys with the same team and key id, and a push key made from `name`."""
    own = wallets.apple_keys(wallets.PASS_TYPE, token=True)
    return replace(own, push_key=wallets.pem(wallets.ec_key(name)).decode())


def test_forged_key_with_the_same_team_and_key_id_does_not_share_the_token(apns):
    own, forged = keys_of("push"), keys_of("somebody else's")

    outcomes = [push.push(push_token=PHONE, keys=keys) for keys in (forged, own, forged)]

    assert [type(outcome) for outcome in outcomes] == [KeysRejected, PushAccepted, KeysRejected]
    assert apns.connections == 2


def test_token_rejected_by_apple_is_not_cached(apns):
    own = keys_of("push")
    apns.answer(PHONE, 403, "InvalidProviderToken")

    outcome = push.push(push_token=PHONE, keys=own)

    assert (type(outcome), push._tokens) == (KeysRejected, {})
