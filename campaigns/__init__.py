"""Earning: takes qualifying actions in, decides what they earn, and advances campaigns."""
