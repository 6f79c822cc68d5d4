"""The API of events, campaigns and reward claims."""
