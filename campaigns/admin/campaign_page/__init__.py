"""The page of a campaign: how it goes, and what may be done with it."""
