"""The demo data for trying the platform out."""
