from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class StaffLoginConfig(AppConfig):
    name = "brands.staff_login"
    label = "staff_login"
    verbose_name = _("Staff login")
