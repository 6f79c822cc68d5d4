"""What the programme costs and brings: figures by month, the roll-forward, liability and breakage."""
