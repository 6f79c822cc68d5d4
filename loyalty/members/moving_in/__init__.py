"""Members whom a brand brings along from another programme, and their opening balances."""
