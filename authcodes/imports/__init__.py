"""Files that assign codes: uploaded, checked, committed, undone."""
