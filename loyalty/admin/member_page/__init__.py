"""The page of one member: who it is, everything that happened, and what staff may do about it."""
