"""Pages of the portal, and the API of its lists."""
