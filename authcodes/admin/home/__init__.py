"""The portal's front page."""
