"""Brands, their hostnames and people, roles, keys and tokens, and the isolation of brands from each other."""
