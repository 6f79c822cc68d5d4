"""Members whom a brand imports from another programme, and their opening balances."""
