"""How qualifying actions come in: over the API, from the hub, from SQS."""
