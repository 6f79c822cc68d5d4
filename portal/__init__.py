"""The website for staff: shared parts of its pages, signing in, and the pages about brands, people, jobs and events."""
