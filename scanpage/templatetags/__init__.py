"""Template tags of the scan page."""
