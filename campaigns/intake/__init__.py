"""Receives qualifying actions: over the API, from the hub, from SQS."""
