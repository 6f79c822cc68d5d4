"""Two accounts of one person made one, and the undo of it."""
