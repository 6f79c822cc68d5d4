"""The page of a campaign: its results, and the available actions."""
