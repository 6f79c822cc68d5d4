"""Jobs and workers: files, prints, nightly tasks, messages."""
