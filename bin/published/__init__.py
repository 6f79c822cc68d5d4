"""What a release publishes besides the service: its documentation, the API's description and the generated clients."""
