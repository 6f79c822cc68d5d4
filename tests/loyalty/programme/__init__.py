"""Tests of the figures and the roll-forward of a loyalty programme."""
