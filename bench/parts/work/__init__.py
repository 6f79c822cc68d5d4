"""What jobs and workers do: files, prints, nights, messages."""
