"""Names the portal's site to Django. Apart from the site itself, which needs models that are not loaded yet here."""

from django.contrib.admin.apps import AdminConfig


class PortalConfig(AdminConfig):
    """Stands in INSTALLED_APPS for django.contrib.admin, beside unfold.apps.BasicAppConfig."""

    default_site = "brands.portal_site.PortalSite"
