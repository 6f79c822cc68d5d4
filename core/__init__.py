"""Infrastructure that knows no brand and has no table."""
