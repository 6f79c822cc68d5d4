"""The page that a phone camera opens; it speaks to the service through the public API alone, as any app would."""
