"""Pages about batches, codes and prefixes."""
