"""What a release publishes beside the service: its documentation, the API's description and the client made of it."""
