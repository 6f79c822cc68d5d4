"""Referrals: members bring friends by a code, and both get points after the friend's first action."""
