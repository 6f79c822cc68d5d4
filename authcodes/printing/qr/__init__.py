"""QR symbols and archives of them."""
