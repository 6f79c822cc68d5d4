"""The WSGI entry point of the web processes."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

django_application = get_wsgi_application()

from config.requests import WholeBodies  # noqa: E402 - it needs the apps, which the line above loads

application = WholeBodies(django_application)
