"""How a brand's own systems and staff use the API: who calls, what they may do, and writes that happen once."""
