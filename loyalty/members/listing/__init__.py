"""Sort keys of the list of members. They are stored next to the accounts and lag a minute behind."""
