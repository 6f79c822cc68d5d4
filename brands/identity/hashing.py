"""A password hasher that hashes one password at a time per process, so that a flood of logins leaves processor time."""

from threading import Lock

from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher

_one_at_a_time = Lock()


class OneAtATime(PBKDF2PasswordHasher):
    """Django's hasher with a queue in front; config.serving.admission decides who may queue."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        if not settings.FAIR_SHARES:
            return super().encode(password, salt, iterations)
        with _one_at_a_time:
            return super().encode(password, salt, iterations)
