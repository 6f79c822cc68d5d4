"""Tests of the programme's figures and books."""
