"""How the web process takes requests in: whose turn it is, which thread answers, which connections end."""
