"""The pages on which staff sign in."""
