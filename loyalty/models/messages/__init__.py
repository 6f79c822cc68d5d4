"""What staff write to members, to whom, and from which addresses."""
