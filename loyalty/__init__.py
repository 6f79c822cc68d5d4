"""What a member holds and hears: accounts and the ledger, levels, rewards, wallets, notifications and webhooks."""
