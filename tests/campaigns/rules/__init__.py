"""Earning rules with conditions."""
