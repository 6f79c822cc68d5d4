"""Partner codes, which rewards hand out."""
