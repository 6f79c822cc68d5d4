"""The settings of the tests: the product's, whatever the surroundings say, but for what would only cost time."""

from config.settings import *  # noqa: F403

# As over plain HTTP, as test clients call; test_environment.py has the redirect back.
SECURE_SSL_REDIRECT = False
# The product's take their time, on purpose.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
