"""The WSGI entry point of the web processes."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# Workers and commands have the time to wait for a lock. Behind PgBouncer the web's role or database sets it.
for database in settings.DATABASES.values():
    if "options" in database["OPTIONS"]:
        database["OPTIONS"]["options"] += f" -c lock_timeout={settings.WEB_LOCK_TIMEOUT_MS}"

django_application = get_wsgi_application()

# They need the apps, which the line above loads.
from config.admission import Admission  # noqa: E402
from config.requests import WholeBodies  # noqa: E402

application = Admission(django_application) if settings.FAIR_SHARES else WholeBodies(django_application)
