"""Google Wallet: the service account, classes and objects by REST, and signed save links."""
