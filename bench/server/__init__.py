"""Addresses next to the platform's own, which it is compared with."""
