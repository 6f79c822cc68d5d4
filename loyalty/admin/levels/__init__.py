"""Pages about levels: what a brand's levels are, when they end, and how members' levels changed."""
