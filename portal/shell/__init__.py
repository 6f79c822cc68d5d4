"""The portal's site, login, navigation and search."""
