"""Segments: conditions over members, compiled to SQL, and their evaluation."""
