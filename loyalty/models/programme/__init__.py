"""A programme's costs and totals, and segments of its members."""
