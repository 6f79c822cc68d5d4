"""Registration, login, profiles, and personal data."""
