"""What a programme costs and adds up to, and segments of its members."""
