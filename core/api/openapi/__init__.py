"""The API's description."""
