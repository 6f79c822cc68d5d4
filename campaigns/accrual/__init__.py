"""Accrual: how a qualifying action becomes points, progress and a level."""
