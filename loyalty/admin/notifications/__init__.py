"""Pages about notifications."""
