"""What a customer has: points, level, ledger and passes; and the events about them."""

from loyalty.models import (
    accounts,
    approvals,
    expiry,
    external_system,
    ledger,
    levels,
    notifications,
    orders,
    pending,
    rewards,
    wallets,
    webhooks,
)
from loyalty.models.members import birthdays, confirmations, consents, listed_members, member_notes
from loyalty.models.messages import addresses, broadcasts, notification_segments
from loyalty.models.programme import costs, referrals, rollups, segments
