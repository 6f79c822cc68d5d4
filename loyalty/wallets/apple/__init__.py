"""Apple Wallet: certificates, signed packages, and pushes to devices."""
