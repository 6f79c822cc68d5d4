"""What a process that answers pages does before its first request."""

import gc
from importlib import import_module

from django.conf import settings


def load_pages() -> None:
    """Load all pages, or the first visitor would wait for them, and leave what is loaded out of the search for garbage.

    It stays until the end, and to look for garbage in it took 150 ms, in the middle of somebody's request.
    """
    import_module(settings.ROOT_URLCONF)
    gc.collect()
    gc.freeze()
