"""Save links: the signed URL behind an "Add to Google Wallet" button."""

from time import time
from typing import Any

from core.http.google_service_accounts import signed
from loyalty.models.wallets import WalletPass
from loyalty.wallets.cards import Card
from loyalty.wallets.google import objects
from loyalty.wallets.google.issuer_keys import GoogleKeys

SAVE_ADDRESS = "https://pay.google.com/gp/v/save"


def save_link(*, wallet_pass: WalletPass, card: Card, keys: GoogleKeys, with_class: bool) -> str:
    """Works with or without an existing object at Google. `with_class` includes the brand's class.

    Leaves out translations, because a URL must be short. The first update adds them.
    """
    payload: dict[str, Any] = {
        "loyaltyObjects": [objects.in_english(objects.loyalty_object(wallet_pass, card, keys.identifier))]
    }
    if with_class:
        payload["loyaltyClasses"] = [objects.in_english(objects.loyalty_class(card.design, keys.identifier))]
    claims = {
        "iss": keys.account.email,
        "aud": "google",
        "typ": "savetowallet",
        "iat": int(time()),
        "origins": [card.design.address] if card.design.address else [],
        "payload": payload,
    }
    return f"{SAVE_ADDRESS}/{signed(claims, keys.account)}"
