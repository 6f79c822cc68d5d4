"""Registering, logging in, profiles, and a person's data."""
