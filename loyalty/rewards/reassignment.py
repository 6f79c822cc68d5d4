"""Reassigns redemptions to another account, when accounts of one person are merged or separated again."""

from collections.abc import Collection

from loyalty.models.rewards import Redemption


def reassign(*, redemptions: Collection[int], account: int) -> None:
    """Reassign these redemptions to the account. Joins a transaction that holds both accounts' locks."""
    Redemption.objects.filter(pk__in=redemptions).update(user_point=account)
