"""Apple's pushes: the token and the connection that stand for a brand are no other brand's."""

from dataclasses import replace

from loyalty.wallets.apple import push
from loyalty.wallets.apple.push import PushResult, Rejected
from tests.support.fakes import wallets

PHONE = "a" * 12


def keys_of(name):
    """A brand's keys under the same team and key id, whoever made the key."""
    own = wallets.apple_keys(wallets.PASS_TYPE, token=True)
    return replace(own, push_key=wallets.pem(wallets.ec_key(name)).decode())


def test_who_knows_a_brands_team_and_key_id_neither_spoils_nor_uses_its_token(apns):
    own, forged = keys_of("push"), keys_of("somebody else's")

    outcomes = [push.push(push_token=PHONE, keys=keys) for keys in (forged, own, forged)]

    assert [type(outcome) for outcome in outcomes] == [Rejected, PushResult, Rejected]
    assert apns.connections == 2


def test_a_token_that_apple_does_not_believe_is_not_kept(apns):
    own = keys_of("push")
    apns.answer(PHONE, 403, "InvalidProviderToken")

    outcome = push.push(push_token=PHONE, keys=own)

    assert (type(outcome), push._tokens) == (Rejected, {})
