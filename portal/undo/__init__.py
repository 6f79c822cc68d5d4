"""The Undo button in success messages."""
