"""The WSGI entry point of the web processes."""

import os
import sys

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from core.db.timeouts import add_session_options

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# A scan waits for the database and Redis a few times. Each time a page that is being rendered in another thread then
# holds it up, for 1 ms instead of Python's 5.
sys.setswitchinterval(0.001)

# Workers and commands have more time. The later option counts; of two limits of statements, 0 being none, the shorter
# one.
limits = filter(None, (settings.WEB_STATEMENT_TIMEOUT_MS, settings.DATABASE_STATEMENT_TIMEOUT_MS))
add_session_options(f"-c lock_timeout={settings.WEB_LOCK_TIMEOUT_MS} -c statement_timeout={min(limits, default=0)}")

plain_application = get_wsgi_application()

# They need the apps, which the line above loads.
from authcodes.places import geocoder  # noqa: E402
from config.serving import silent_connections, start_up  # noqa: E402
from config.serving.admission import Admission  # noqa: E402
from core.web.middleware import ReadableContentTypes, WholeBodies  # noqa: E402

django_application = ReadableContentTypes(plain_application)
# Scans look their place up: no request is to wait until the table is read.
geocoder.loaded_atlas()

start_up.load_pages()

if settings.FAIR_SHARES:
    silent_connections.start()
application = Admission(django_application) if settings.FAIR_SHARES else WholeBodies(django_application)
