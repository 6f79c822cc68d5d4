"""The portal's app, and its site in place of Django's. The site itself needs models that are not loaded yet here."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig
from django.utils.translation import gettext_lazy as _


class PortalConfig(AppConfig):
    name = "portal"
    verbose_name = _("Portal")


class SiteConfig(AdminConfig):
    """Stands in INSTALLED_APPS for django.contrib.admin, beside unfold.apps.BasicAppConfig."""

    default_site = "portal.shell.site.PortalSite"
