"""Paths of the files with brands' wallet keys, below settings.WALLET_KEYS_DIR."""

from pathlib import Path

from django.conf import settings

PLATFORMS = ("apple", "google")


def file_of(brand_id: int, platform: str) -> Path | None:
    """The file of a brand's keys for a platform. It is named by the brand's id, because slugs can change."""
    directory = settings.WALLET_KEYS_DIR
    return Path(directory) / str(brand_id) / f"{platform}.json" if directory else None


def named_by_slug() -> list[tuple[Path, str, str]]:
    """Files with old names, each with its slug and platform. They are no longer read.

    Otherwise changing a slug would choose another brand's signing keys.
    """
    directory = Path(settings.WALLET_KEYS_DIR) if settings.WALLET_KEYS_DIR else None
    if directory is None or not directory.is_dir():
        return []
    result = ((file, platform) for platform in PLATFORMS for file in directory.glob(f"*.{platform}.json"))
    return sorted((file, file.name.removesuffix(f".{platform}.json"), platform) for file, platform in result)
