"""The portal's pages about points: what earns them, who holds them and is told, wallets, and the events behind."""

from loyalty.admin import (
    events,
    external,
    ledger,
    levels,
    members,
    notice_deliveries,
    notice_settings,
    notice_templates,
    redemptions,
    rewards,
    rules,
    sender_domains,
    stopped_addresses,
    wallet_issuers,
    wallets,
    webhooks,
)

__all__ = [
    "events",
    "external",
    "ledger",
    "levels",
    "members",
    "notice_deliveries",
    "notice_settings",
    "notice_templates",
    "redemptions",
    "rewards",
    "rules",
    "sender_domains",
    "stopped_addresses",
    "wallet_issuers",
    "wallets",
    "webhooks",
]
