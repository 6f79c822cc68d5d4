"""Files that assign codes or bring them in: upload, check, commit and undo."""
