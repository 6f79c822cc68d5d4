"""Pages for batches: the wizard that creates one, and a batch's own page."""
