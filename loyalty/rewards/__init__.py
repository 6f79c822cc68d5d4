"""What points buy: offers, redemptions, codes, the till."""
