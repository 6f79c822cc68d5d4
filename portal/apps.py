"""The portal's app, and its site in place of Django's. The site needs models that are not loaded yet at this point."""

from pathlib import Path
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.contrib.admin.apps import AdminConfig
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class PortalConfig(AppConfig):
    name = "portal"
    verbose_name = _("Portal")

    def ready(self) -> None:
        """Columns and labels are named after fields. Names that Django derives itself ("scan limit") are translated
        like the others. Migrations do not see the translation, and bin/messages collects these names, too."""
        for config in apps.get_app_configs():
            if Path(config.path).is_relative_to(settings.BASE_DIR):
                for model in config.get_models():
                    translate_names(model._meta)


def translate_names(opts: Any) -> None:
    if "verbose_name_plural" not in opts.original_attrs:
        opts.verbose_name_plural = _(f"{opts.verbose_name_raw}s")
    for named in (opts, *opts.local_fields, *opts.local_many_to_many):
        if not isinstance(named.verbose_name, Promise):
            named.verbose_name = _(named.verbose_name)


class SiteConfig(AdminConfig):
    """Replaces django.contrib.admin in INSTALLED_APPS, next to unfold.apps.BasicAppConfig."""

    default_site = "portal.site.PortalSite"
