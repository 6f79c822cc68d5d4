"""The registry of resources: apps declare them, and settings.IMPORT_RESOURCES names them."""

from functools import cache

from django.conf import settings
from django.utils.module_loading import import_string

from portal.import_export.resource import TenantResource


@cache
def resources() -> dict[str, type[TenantResource]]:
    """The resources by their names in the API's addresses."""
    return {name: import_string(path) for name, path in settings.IMPORT_RESOURCES.items()}


def of_label(label: str) -> type[TenantResource]:
    """The resource of a model's rows."""
    return next(each for each in resources().values() if each.label() == label)
