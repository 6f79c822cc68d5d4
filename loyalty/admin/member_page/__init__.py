"""The page of one member: identity, timeline, and what staff may do about the member."""
