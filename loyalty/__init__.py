"""Member accounts and everything attached: the ledger, levels, rewards, wallets, notifications and webhooks."""
