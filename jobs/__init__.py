"""Long work that staff, customers or programs start: its kinds, queue and workers, and the files that it creates."""
