"""What happens once when a process has loaded its apps."""

from django.apps import AppConfig

from config import telemetry


class PlatformConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        telemetry.start()
