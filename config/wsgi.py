"""The WSGI entry point of the web processes."""

import os
import sys

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from core.db.timeouts import add_session_options

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# A scan waits for the database and Redis a few times. Each time, a page rendered in another thread delays it by this
# interval: 1 ms instead of Python's 5.
sys.setswitchinterval(0.001)

# Workers and commands have more time. A later option replaces an earlier one, so use the shorter of both statement
# timeouts; 0 means none.
limits = filter(None, (settings.WEB_STATEMENT_TIMEOUT_MS, settings.DATABASE_STATEMENT_TIMEOUT_MS))
add_session_options(f"-c lock_timeout={settings.WEB_LOCK_TIMEOUT_MS} -c statement_timeout={min(limits, default=0)}")

plain_application = get_wsgi_application()

# These imports need the apps, which the line above loads.
from authcodes.places import geocoder  # noqa: E402
from config.serving import silent_connections, start_up  # noqa: E402
from config.serving.admission import Admission  # noqa: E402
from core.web.middleware import ReadableContentTypes, WholeBodies  # noqa: E402

django_application = ReadableContentTypes(plain_application)
# Loaded now, because scans look up their place and must not wait for the table.
geocoder.loaded_atlas()

start_up.load_pages()

if settings.FAIR_SHARES:
    silent_connections.start()
application = Admission(django_application) if settings.FAIR_SHARES else WholeBodies(django_application)
