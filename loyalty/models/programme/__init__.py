"""What a programme costs and adds up to."""
