"""Tests of how staff sign in."""
