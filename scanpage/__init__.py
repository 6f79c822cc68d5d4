"""The page that a phone camera opens. It speaks to the service through the public API alone, as any app would."""
