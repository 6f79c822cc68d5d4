"""Referrals: members refer friends with a code, and both get points after the friend's first action."""
