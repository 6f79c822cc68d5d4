"""What staff do about a member: correct, enrol, merge, export and erase, each with its page, and undo."""
