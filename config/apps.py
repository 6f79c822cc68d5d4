"""Code that runs once when a process has loaded its apps."""

from django.apps import AppConfig

from core.observability import telemetry
from core.web import path_converters


class PlatformConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        telemetry.start()
        path_converters.register()
