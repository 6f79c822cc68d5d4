"""The API of members: registration, login, the profile, and members as other systems see them."""
