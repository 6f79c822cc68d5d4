from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class BrandsConfig(AppConfig):
    name = "brands"
    verbose_name = _("Brands and people")
