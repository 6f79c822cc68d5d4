"""How the web process receives requests: their order, the thread that answers, and the connections that it ends."""
