"""Costs and results of the programme: figures by month, the roll-forward, liability and breakage."""
