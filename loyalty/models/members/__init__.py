"""What a brand knows of its members beside their accounts: consents, addresses to confirm, birthdays, notes."""
