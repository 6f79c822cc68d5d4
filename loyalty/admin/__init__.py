"""The portal's pages about points: what earns them, who holds them, and the events behind them."""

from loyalty.admin import events, ledger, levels, members, rules

__all__ = ["events", "ledger", "levels", "members", "rules"]
