"""Renders: the signed Apple package of a pass's version, created once for many devices."""

import zlib
from datetime import datetime

from core.redis.client import call_or_none, command
from loyalty.models.wallets import Platform, WalletPass
from loyalty.wallets import issuers
from loyalty.wallets.apple import packages
from loyalty.wallets.cards import card_of

CACHE_SECONDS = 600


def apple_package(*, wallet_pass: WalletPass, at: datetime) -> bytes:
    """The signed package. Raises WalletUnavailable.

    A phone and a watch ask within seconds of each other, so Redis caches the package. Without Redis it is signed again.
    """
    issuer = issuers.usable(brand_id=wallet_pass.brand_id, platform=Platform.APPLE, at=at)
    card = card_of(wallet_pass)
    shared = repr((card.design, issuer.apple, card.language)).encode()
    name = f"loyalty:wallet:{wallet_pass.pk}:{wallet_pass.version}:{zlib.crc32(shared)}"
    saved = call_or_none(lambda: command("GET", name))
    if saved:
        return bytes(saved)
    made = packages.package(wallet_pass=wallet_pass, card=card, keys=issuer.for_apple)
    call_or_none(lambda: command("SET", name, made, "EX", CACHE_SECONDS))
    return made
