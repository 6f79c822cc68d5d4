"""Journeys whose processes are their own: nobody else's worker may take their events."""
