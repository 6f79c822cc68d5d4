"""Staff actions on a member: correct, enrol, merge, export, erase, and undo. Each has its own page."""
