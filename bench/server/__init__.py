"""Views next to the platform's own, for comparison."""
