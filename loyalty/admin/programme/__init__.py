"""Pages of the programme's key figures and accounting."""
