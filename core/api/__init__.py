"""What every endpoint shares."""
