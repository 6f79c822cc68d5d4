"""What a brand knows about its members besides their accounts: consents, addresses to confirm, birthdays, notes."""
