"""Pages of figures: cards that lead to lists, and charts."""
