"""The guide for staff, as the portal shows it: the pages of docs/, and which section belongs to which page."""
