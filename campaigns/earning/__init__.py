"""What an action is worth."""
