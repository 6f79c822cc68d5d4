"""Pages about a batch: the wizard that makes one, and its page."""
