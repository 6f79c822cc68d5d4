"""Long work that staff or programs start."""
