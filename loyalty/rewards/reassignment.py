"""Redemptions that become another account's: of one person whose accounts are merged, or separate again."""

from collections.abc import Collection

from loyalty.models.rewards import Redemption


def reassign(*, redemptions: Collection[int], account: int) -> None:
    """Give these redemptions to the account. Joins a transaction that holds both accounts' locks."""
    Redemption.objects.filter(pk__in=redemptions).update(user_point=account)
