"""The website for staff: what all its pages share, signing in, and the pages about brands, people, jobs and events."""
