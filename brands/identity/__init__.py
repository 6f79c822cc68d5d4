"""Who somebody is: users, staff, roles, API keys, tokens."""
