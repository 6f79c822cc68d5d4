"""What the scans of closed days add up to."""
