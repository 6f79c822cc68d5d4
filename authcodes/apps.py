from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AuthcodesConfig(AppConfig):
    name = "authcodes"
    verbose_name = _("Codes and scans")
