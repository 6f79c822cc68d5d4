"""Who: brands, their hostnames and people, roles, keys and tokens, and the walls between brands."""
