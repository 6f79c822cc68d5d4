from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from brands.isolation import checks  # noqa: F401 - it registers the checks


class BrandsConfig(AppConfig):
    name = "brands"
    verbose_name = _("Brands and people")
