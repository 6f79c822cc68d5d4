"""The demo's passwords and API keys: random, and readable only by the owner of DATA_DIR/demo.json."""

import json
import os
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

from django.conf import settings

from brands.errors import ApiKeyInvalid
from brands.identity import api_keys
from brands.models.credentials import ApiKey
from brands.models.people import User
from brands.models.tenants import Brand
from config.demo.data import PLANS, SUPERUSER

KEY_NAME = "Demo"


@dataclass
class Credentials:
    """The content of the file: passwords and their hashes by e-mail address, keys by brand slug and kind."""

    base_url: str = ""
    passwords: dict[str, str] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    keys: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def load(cls) -> "Credentials":
        """The saved credentials; empty if the file is missing or has another format."""
        try:
            return cls(**json.loads(path().read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return cls()

    def save(self) -> None:
        unfinished = path().with_suffix(".new")
        unfinished.unlink(missing_ok=True)
        unfinished.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Never readable by others, not even while it is being written.
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(asdict(self), file, indent=2)
        unfinished.replace(path())

    def renew(self, *, brands: Iterable[Brand], at: datetime) -> None:
        """Replace passwords and keys that no longer work, of the demo's people and brands only."""
        addresses = [SUPERUSER, *(address for plan in PLANS for address in plan.addresses)]
        for user in User.objects.filter(email__in=addresses).order_by("pk"):
            if not self._opens(user):
                self._set_password(user)
        for brand in brands:
            saved = self.keys.setdefault(brand.slug, {})
            for kind in ApiKey.Kind.values:
                if not is_usable(saved.get(kind, ""), brand, kind, at):
                    saved[kind] = new_key(brand, kind, at)

    def _opens(self, user: User) -> bool:
        password, known_hash = self.passwords.get(user.email), self.hashes.get(user.email)
        if not password or not user.is_active:
            return False
        # Comparing hashes makes later starts fast. A login may have rehashed the same password.
        if user.password != known_hash and not user.check_password(password):
            return False
        self.hashes[user.email] = user.password
        return True

    def _set_password(self, user: User) -> None:
        password = secrets.token_urlsafe(12)
        user.set_password(password)
        user.is_active = True
        user.save(update_fields=["password", "is_active"])
        self.passwords[user.email], self.hashes[user.email] = password, user.password


def path() -> Path:
    saved: Path = settings.DATA_DIR / "demo.json"
    return saved


def is_usable(key: str, brand: Brand, kind: str, at: datetime) -> bool:
    try:
        caller = api_keys.find(key, at=at)
    except ApiKeyInvalid:
        return False
    return (caller.brand_id, caller.kind) == (brand.pk, kind)


def new_key(brand: Brand, kind: str, at: datetime) -> str:
    """Raises Invalid if the brand's staff have created two keys of their own."""
    for lost in ApiKey.objects.filter(brand=brand, kind=kind, name=KEY_NAME, revoked_at=None):
        api_keys.revoke(key=lost, at=at)
    _, text = api_keys.create(brand=brand, kind=kind, name=KEY_NAME, at=at, scopes=ApiKey.Scope.values)
    return text
