"""Pages about members."""
