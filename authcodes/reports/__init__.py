"""The content of exported files."""
