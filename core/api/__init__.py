"""Code that all endpoints share."""
