"""Pages about replays: how one starts, and what it found."""
