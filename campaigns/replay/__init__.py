"""Rules that are not in force, tried on what members did before."""
