"""The sign-in pages of staff."""
