"""Where scans happened: the names of places, and the search for them."""
