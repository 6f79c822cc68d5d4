"""The orders of the list of members: what it is sorted by, kept beside the accounts, a minute behind them."""
