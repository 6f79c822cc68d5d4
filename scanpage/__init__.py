"""The page that a phone camera opens; it uses the service only through the public API, like any app."""
