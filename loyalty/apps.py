import logging

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from loyalty.wallets import key_files

logger = logging.getLogger(__name__)


class LoyaltyConfig(AppConfig):
    name = "loyalty"
    verbose_name = _("Points and events")

    def ready(self) -> None:
        """Log which wallet key files must be moved. manage.py wallet_selfcheck also names the brands' ids."""
        for file, slug, platform in key_files.named_by_slug():
            logger.warning(
                "WALLET_KEYS_DIR: %s is not read, because the slug %s may change: move it to <brand id>/%s.json "
                "(manage.py wallet_selfcheck says which id)",
                file.name,
                slug,
                platform,
            )
