"""How a campaign is made: cards to begin with, and one form in steps up to its launch."""
