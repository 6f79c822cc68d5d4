"""Broadcasts of staff to members, their audiences, and the sender and recipient addresses."""
