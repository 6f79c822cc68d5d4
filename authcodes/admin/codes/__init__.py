"""Pages for codes and prefixes."""
