"""What every page of the portal is made of."""
