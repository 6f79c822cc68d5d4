"""The portal's pages about members, points, notifications, wallets and integrations."""
# ruff: noqa: F401 - importing a page registers it

from loyalty.admin import (
    approvals,
    external_system,
    ledger,
    redemptions,
    rewards,
    transfers,
    wallet_issuers,
    wallet_passes,
    webhooks,
)
from loyalty.admin.levels import changes, levels
from loyalty.admin.members import members
from loyalty.admin.notifications import (
    deliveries,
    segments,
    sender_domains,
    settings,
    suppressed_addresses,
    templates,
)
from loyalty.admin.orders import currency_rates, order_returns
from loyalty.admin.partner_codes import pool_codes
from loyalty.admin.programme import pages, referrals
