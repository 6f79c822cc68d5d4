"""Rewards for points: offers, redemptions, codes, and the till."""
