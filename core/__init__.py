"""Infrastructure that does not depend on brands and has no tables."""
