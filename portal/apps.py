"""The portal's app, and its site in place of Django's. The site itself needs models that are not loaded yet here."""

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
        """Columns and labels are called after fields. One that Django names after itself ("scan limit") is translated
        like the others; migrations do not see it, and bin/messages collects these names too."""
        for config in apps.get_app_configs():
            if Path(config.path).is_relative_to(settings.BASE_DIR):
                for model in config.get_models():
                    translate_names(model._meta)  # noqa: SLF001 - Django's public API of models


def translate_names(opts: Any) -> None:
    if "verbose_name_plural" not in opts.original_attrs:
        opts.verbose_name_plural = _(f"{opts.verbose_name_raw}s")
    for named in (opts, *opts.local_fields, *opts.local_many_to_many):
        if not isinstance(named.verbose_name, Promise):
            named.verbose_name = _(named.verbose_name)


class SiteConfig(AdminConfig):
    """Stands in INSTALLED_APPS for django.contrib.admin, beside unfold.apps.BasicAppConfig."""

    default_site = "portal.site.PortalSite"
