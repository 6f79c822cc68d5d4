"""Pages about replays: starting one, and its result."""
