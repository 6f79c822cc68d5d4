"""Creates campaigns: template cards, then one form in steps up to the launch."""
