"""The figures of the front page."""
