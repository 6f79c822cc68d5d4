"""How far customers are in campaigns."""
