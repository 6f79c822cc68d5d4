"""How staff sign in to the portal: second factors, identity providers of brands, sessions, and mails about them."""
