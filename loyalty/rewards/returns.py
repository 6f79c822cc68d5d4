"""Returns the points and the stock of a redemption."""

import uuid
from datetime import datetime
from decimal import Decimal

from django.db.models import F
from django.utils.translation import gettext as _

from events import publishing
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption, Reward
from loyalty.models.wallets import WalletPass
from loyalty.points import ledger
from loyalty.points.balance_events import balance_changed

ZERO = Decimal(0)
# Any constant UUID: a name space of its own for what follows from redemptions and claims.
FOLLOWING = uuid.UUID("5b0c6a0e-6d0b-4d0e-9a55-2f3f7f1c9c41")


def following_id(cause: str) -> uuid.UUID:
    """Of what wallets hear, once for each cause."""
    return uuid.uuid5(FOLLOWING, f"balance-changed:{cause}")


def reverse(redemption: Redemption, account: UserPoints, at: datetime) -> bool:
    """Cancel an unused redemption, with its points and stock. False: it is not unused. Call with the account locked."""
    unused = Redemption.objects.filter(pk=redemption.pk, status=Redemption.Status.ISSUED)
    if not unused.update(status=Redemption.Status.CANCELLED, cancelled_at=at):
        return False
    if redemption.cost:
        return_points(redemption, account, at)
    Reward.objects.filter(redemptions=redemption, stock__isnull=False).update(stock=F("stock") + 1)
    return True


def return_points(redemption: Redemption, account: UserPoints, at: datetime) -> None:
    words = _("Cancelled: %(reward)s") % {"reward": redemption.name}
    line = ledger.give_back(account=account.pk, points=redemption.cost, redemption_id=redemption.pk, note=words, at=at)
    cause = f"{ledger.RETURNED}{redemption.pk}"
    message = balance_changed(
        brand_id=account.brand_id,
        user_id=account.user_id,
        account=account.pk,
        points=line.balance,
        level=line.current_level,
        cause=cause,
        has_consumer=WalletPass.objects.filter(account=account).exists(),
        event_id=following_id(cause),
    )
    publishing.publish(messages=[message], brand_id=account.brand_id, at=at)
