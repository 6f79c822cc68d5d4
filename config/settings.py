"""All settings. Those that differ between installations come from the environment: see the table in README.md."""

import ssl
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from config import environment as env
from config.ports import (  # noqa: F401 - they are settings
    ACCOUNT_MERGES,
    CELERY_TASK_ROUTES,
    CUSTOMER_CAMPAIGNS,
    CUSTOMER_TIMELINE,
    EVENT_BATCH_HANDLERS,
    EVENT_CONTEXTS,
    EVENT_HANDLERS,
    EVENT_LANES,
    IMPORT_RESOURCES,
    JOB_END_HANDLERS,
    JOB_KINDS,
    MEMBERS_SEEN,
    OWN_KIND_HANDLER,
    OWN_KIND_NAMES,
    PERSONAL_DATA,
    REPLAY_CONTEXTS,
    UNDO_KINDS,
    WEBHOOKS,
)
from core.observability.log_format import SUSPICIOUS

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env.data_dir("DATA_DIR", project=BASE_DIR)

# Local try-out: bin/run saves the secret, and no other machine has access. Otherwise nothing has a safe default.
LOCAL = not env.text("SECRET_KEY") or not env.text("DATABASE_URL")
HTTPS = env.flag("HTTPS", default=not LOCAL)

SECRET_KEY = env.secret(
    "SECRET_KEY",
    otherwise=env.saved_value(DATA_DIR / "secret_key"),
    advice="; for a try-out start bin/run first, or set DATA_DIR to where it keeps its data",
)
ALLOWED_HOSTS = env.listed("ALLOWED_HOSTS", env.hostname, "localhost,.localhost,127.0.0.1,[::1]" if LOCAL else "")
if not ALLOWED_HOSTS:
    message = "ALLOWED_HOSTS is missing: name the hostnames of the portal and of every brand, comma-separated"
    raise ImproperlyConfigured(message)
if LOCAL and not env.text("HTTPS") and (public_hosts := env.not_of_this_machine(ALLOWED_HOSTS)):
    message = (
        f"DATABASE_URL or SECRET_KEY is missing, but ALLOWED_HOSTS names {public_hosts[0]}: set both for a service "
        "that others reach, which runs with HTTPS then; or set HTTPS to 0 or 1 yourself, if this is a local try-out"
    )
    raise ImproperlyConfigured(message)
CSRF_TRUSTED_ORIGINS = env.listed("CSRF_TRUSTED_ORIGINS", env.origin)

INSTALLED_APPS = [
    "config",
    "authcodes",
    "loyalty",
    "campaigns",
    "events",
    "jobs",
    "brands.staff_login",
    "brands",
    # Before unfold and Django, so that their templates and translations take precedence.
    "scanpage",
    "portal.apps.PortalConfig",
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    "portal.apps.SiteConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
    "django_filters",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]

MIDDLEWARE = [
    "core.web.security_headers.SecurityHeaders",
    "core.languages.Languages",
    "core.web.middleware.RequestId",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "brands.access.cross_origin.CrossOrigin",
    "brands.staff_login.session_middleware.Sessions",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "brands.staff_login.session_middleware.Users",
    "brands.staff_login.session_middleware.Messages",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "core.api.exception_handler.DatabaseErrors",
    "brands.access.key_calls.KeyCallsMiddleware",
]

ROOT_URLCONF = "config.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- Fair shares of brands -------------------------------------------------------------------------------------------
# False removes the limits per brand of threads, lanes and jobs, so that bench can measure their effect.
FAIR_SHARES = True

# --- PostgreSQL ------------------------------------------------------------------------------------------------------
DATABASE_STATEMENT_TIMEOUT_MS = env.integer("DATABASE_STATEMENT_TIMEOUT_MS", 60_000)
# Only core.db.sql binds on the server, so only its statements are prepared; PgBouncer before 1.21 cannot do this.
PGBOUNCER = env.flag("PGBOUNCER", default=False)
# Web requests wait at most this long for a lock (config.wsgi): otherwise a large change of codes could soon block all
# web threads.
WEB_LOCK_TIMEOUT_MS = 2_000
# Workers of points serve all brands: an event whose rows are locked is postponed.
WORKER_LOCK_TIMEOUT_MS = 2_000
# The limit of a web request's statements: one slow filter would block a web thread, a few would block all. Operations
# that may take longer (exports, imports, jobs, a change of many codes) set their own limit or run in a worker.
WEB_STATEMENT_TIMEOUT_MS = env.integer("WEB_STATEMENT_TIMEOUT_MS", 5_000)
_session: dict[str, Any] = {
    "application_name": "loyalty",
    "connect_timeout": 5,
    "prepare_threshold": None if PGBOUNCER else 1,
}
if DATABASE_STATEMENT_TIMEOUT_MS:
    # PgBouncer rejects start-up options unless configured otherwise; 0 omits them.
    _session["options"] = (
        f"-c statement_timeout={DATABASE_STATEMENT_TIMEOUT_MS} -c idle_in_transaction_session_timeout=60000"
    )
DATABASES = {
    "default": {
        **env.database("DATABASE_URL", embedded=DATA_DIR / "run", options=_session),
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "DISABLE_SERVER_SIDE_CURSORS": PGBOUNCER,
        "POOLED": PGBOUNCER,
        # Roles and row-level security: core.db.row_guard. Roles belong to the cluster, so they are named after the
        # database.
        "GUARD": env.flag("DATABASE_GUARD", default=True),
        "ROLES": env.text("DATABASE_ROLES"),
    }
}
# The login that owns the tables and migrates them, if it is not the application's own.
if env.text("DATABASE_OWNER_URL"):
    _owner = env.database("DATABASE_OWNER_URL", embedded=DATA_DIR / "run", options=_session)
    # Only another login, not another database: tests have their own names.
    _login = ("USER", "PASSWORD", "HOST", "PORT", "OPTIONS")
    DATABASES["default"]["OWNER"] = {name: _owner.get(name, "") for name in _login}
# A streaming replica for the dashboard and exports, used if it has caught up: core.db.replica.
if env.text("REPLICA_DATABASE_URL"):
    DATABASES["replica"] = {
        **DATABASES["default"],
        **env.database("REPLICA_DATABASE_URL", embedded=DATA_DIR / "run", options=_session),
        "TEST": {"MIRROR": "default"},
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "brands.User"

# --- Redis, Celery ---------------------------------------------------------------------------------------------------
REDIS_URL = env.value("REDIS_URL", f"unix://{DATA_DIR}/run/valkey.sock?db=0", env.redis_url)
REDIS_TIMEOUT_SECONDS = 0.5
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "loyalty",
    }
}

CELERY_BROKER_URL = env.text("CELERY_BROKER_URL", env.celery_broker(REDIS_URL))
# Celery would check no certificate, unlike the client of REDIS_URL. ssl_cert_reqs in the address takes precedence.
CELERY_BROKER_USE_SSL = {"ssl_cert_reqs": ssl.CERT_REQUIRED} if CELERY_BROKER_URL.startswith("rediss:") else False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {}
if CELERY_BROKER_URL.startswith("redis"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "socket_connect_timeout": 2,
        "visibility_timeout": 60,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
    }
elif CELERY_BROKER_URL.startswith(("amqp", "pyamqp")):
    # Replicated queues, and publishers that wait for the broker's confirmation.
    CELERY_TASK_DEFAULT_QUEUE_TYPE = CELERY_TASK_CREATE_MISSING_QUEUE_TYPE = "quorum"
    CELERY_BROKER_TRANSPORT_OPTIONS = {"confirm_publish": True, "connect_timeout": 2}
# A failed publish loses nothing, because the sweeper finds the row; so customers never wait for a retry.
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 5
# Periodic tasks have workers of their own, so that long jobs never delay them.
CELERY_TASK_DEFAULT_QUEUE = "regular" if FAIR_SHARES else "work"
# Without this, Celery's Django fixup closes the database connection before and after every task; config.celery drops
# dead ones instead.
CELERY_DB_REUSE_MAX = 1_000_000
EVENT_SWEEP_SECONDS = 2


def every(seconds: int, task: str) -> dict[str, Any]:
    """An entry of the schedule. A call that has not begun when the next one follows is dropped."""
    return {"task": task, "schedule": seconds, "options": {"expires": seconds}}


CELERY_BEAT_SCHEDULE = {
    "sweep-events": every(EVENT_SWEEP_SECONDS, "events.tasks.sweep"),
    "locate-scans": every(EVENT_SWEEP_SECONDS, "authcodes.tasks.locate_scans"),
    "purge-webhook-messages": {"task": "loyalty.tasks.purge_webhook_messages", "schedule": 3_600},
    "purge-events": every(3_600, "events.tasks.purge_events"),
    "purge-paid-events": every(3_600, "events.tasks.purge_paid_events"),
    "check-sender-domains": {"task": "loyalty.tasks.check_sender_domains", "schedule": 3_600},
    "check-wallets": {"task": "loyalty.tasks.check_wallets", "schedule": 86_400},
    # Called often, because each brand's day begins at another time. A call for a day that is done changes nothing.
    "release-points": every(60, "loyalty.tasks.release_points"),
    "settle-levels": every(60, "loyalty.tasks.settle_levels"),
    "expire-points": every(600, "loyalty.tasks.expire_points"),
    "send-staff-mails": every(60, "brands.tasks.send_staff_mails"),
    "store-stopped-attempts": every(300, "brands.tasks.store_stopped_attempts"),
    "warn-of-quotas": every(600, "brands.tasks.warn_of_quotas"),
    "notify-used-up-budgets": every(300, "campaigns.tasks.notify_used_up_budgets"),
    "evaluate-segments": every(60, "campaigns.tasks.evaluate_segments"),
    "begin-broadcasts": every(60, "campaigns.tasks.begin_broadcasts"),
    "settle-broadcasts": every(600, "campaigns.tasks.settle_broadcasts"),
    "welcome-members": every(60, "campaigns.tasks.welcome_members"),
    "celebrate-birthdays": every(60, "campaigns.tasks.celebrate_birthdays"),
    "refresh-member-lists": every(60, "loyalty.tasks.refresh_member_lists"),
    "find-referrals": every(30, "loyalty.tasks.find_referrals"),
    "run-scheduled-reports": every(60, "portal.tasks.run_scheduled_reports"),
    "purge-sessions": {"task": "brands.tasks.purge_ended_sessions", "schedule": 86_400},
    "purge-confirmations": {"task": "loyalty.tasks.purge_confirmations", "schedule": 3_600},
    "release-opening-balances": {"task": "loyalty.tasks.release_opening_balances", "schedule": 3_600},
    "resume-jobs": every(2, "jobs.tasks.resume_jobs"),
    "purge-files": every(60, "authcodes.tasks.purge_files"),
    "purge-orphaned-uploads": {"task": "authcodes.tasks.purge_orphaned_uploads", "schedule": 3_600},
    "purge-replays": {"task": "campaigns.tasks.purge_replays", "schedule": 3_600},
    "purge-fake-reports": {"task": "authcodes.tasks.purge_fake_reports", "schedule": 3_600},
    "purge-lookups": {"task": "authcodes.tasks.purge_lookups", "schedule": 86_400},
    "roll-up-days": every(600, "authcodes.tasks.roll_up_closed_days"),
    "roll-up-programme": every(600, "loyalty.tasks.roll_up_programme"),
}
WEBHOOK_TIMEOUT_SECONDS = 10
OUTGOING_BATCH = 4
OUTGOING_LEASE_SECONDS = 8
OUTGOING_WORKERS = env.integer("OUTGOING_WORKERS", 4, minimum=2)
# In all lanes together; the sender has twice as many threads.
OUTGOING_PER_BRAND = env.integer("OUTGOING_PER_BRAND", 6, minimum=1)
EVENT_LEASE_SECONDS = 8
EVENT_RETRY_HOURS = 24
# A return or a delivery may be reported before its order: it waits for the order this long, then it is rejected.
ORDER_WAIT_HOURS = 72
# Longer than all retries (72 hours), and longer than stored answers are replayed.
EVENT_LOG_DAYS = 30
# 0 keeps them for ever. Much longer than senders repeat events; campaigns/progress/consistency.py relies on 30 days.
POINT_EVENT_DAYS = env.integer("POINT_EVENT_DAYS", 90, minimum=0)
if 0 < POINT_EVENT_DAYS < 30:
    raise ImproperlyConfigured("POINT_EVENT_DAYS must be 30 or more, or 0 to keep these events for ever")
# For reports of suspected fakes; 0 keeps them for ever.
FAKE_REPORT_DAYS = env.integer("FAKE_REPORT_DAYS", 730, minimum=0)
EVENT_BATCH = 50
# manage.py receive_sqs receives events of the named brands from this queue (their IDs; * for all brands).
SQS_QUEUE_URL = env.text("SQS_QUEUE_URL")
SQS_BRANDS = env.listed("SQS_BRANDS", env.brand_id)
READY_EVENT_AGE_SECONDS = 300
READY_JOB_WAIT_SECONDS = 120

# --- Mail, SMS, push -------------------------------------------------------------------------------------------------
# In a local try-out, mails are written to the log; otherwise sending needs a server.
_mail = env.mail("EMAIL_URL", "consolemail://" if LOCAL else "smtp://localhost:25")
EMAIL_BACKEND = env.text("EMAIL_BACKEND", _mail["EMAIL_BACKEND"])
EMAIL_HOST, EMAIL_PORT = _mail["EMAIL_HOST"], _mail["EMAIL_PORT"]
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail["EMAIL_HOST_USER"], _mail["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS, EMAIL_USE_SSL = "EMAIL_USE_TLS" in _mail, "EMAIL_USE_SSL" in _mail
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.text("DEFAULT_FROM_EMAIL", "loyalty@localhost")
# Servers for the DNS records of senders' domains; without any, the machine's own resolvers.
DNS_SERVERS = env.listed("DNS_SERVERS", env.name_server)
TWILIO_URL = "https://api.twilio.com"
FCM_URL = "https://fcm.googleapis.com"
# Access tokens for push and for Google Wallet.
GOOGLE_TOKEN_URL = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address

# --- Threads of the web, in each of its processes -------------------------------------------------------------------
# Each class of requests has its own threads. A brand may use all but one, and half of those for pages
# (config.serving.admission).
WEB_API_THREADS = 3
WEB_EVENT_THREADS = 4
WEB_LOGIN_THREADS = 2
WEB_PAGE_THREADS = 4
# The time for receiving a body; large ones get more.
WEB_BODY_SECONDS = 10

# --- Access and rate limits -------------------------------------------------------------------------------------------
TRUSTED_PROXIES = env.integer("TRUSTED_PROXIES", 0)
RATE_LIMITS = env.changed(
    "RATE_LIMITS",
    {
        # For all hub keys of a brand together, and the same for its app keys, of which one network may use a tenth.
        "brand": "500/second",
        "campaign_event": "100/minute",
        "scan": "60/minute",
        "login": "10/minute",
        "login_address": "30/minute",
        "register": "10/minute",
        "second_factor": "20/hour",
        "staff_mail": "5/hour",
        "invitation": "50/day",
        "invitation_address": "5/day",
        "staff_oidc": "20/minute",
        "account_mail": "5/hour",
        "account_mail_address": "20/day",
        "account_mail_mailbox": "10/hour",
        "fake_report": "10/hour",
        "redeem": "30/minute",
        "transfer": "30/hour",
        # Referral codes that are entered, valid or not: of a network, and of a customer.
        "referral_code": "60/hour",
        "referral_code_customer": "20/hour",
        "data_export": "5/day",
        "name_correction": "20/day",
        "test_message": "60/hour",
        "document": "30/minute",
        "read": "300/minute",
        "ingest": "6000/minute",
        "wallet": "120/minute",
        "wallet_address": "1200/minute",
        "prefix": "30/hour",
        "prefix_brand": "90/hour",
        "unknown_code": "20/hour",
        "unknown_code_address": "200/hour",
        # Different plain codes that are tried, valid or not (docs/guessing.md): of a customer, of a network's new
        # customers, of a brand; "near": within a hundred consecutive numbers.
        "plain_codes": "40/hour",
        "plain_codes_day": "60/day",
        "plain_codes_near": "30/day",
        "plain_codes_network": "200/day",
        "plain_codes_network_near": "60/day",
        "plain_codes_brand": "100000/day",
    },
    env.rate,
)
# Wrong passwords for one account at one sign-in endpoint (the portal, or the API at a brand) from devices that have
# never been used for it.
LOGIN_TRIES_PER_DAY = 50
LOGIN_PAUSED_MAIL = "loyalty.members.account_mail.login_paused"
# Called with a user_id in the transaction that records the confirmation of their e-mail address.
ADDRESS_CONFIRMED = "loyalty.members.confirmations.release_points"
UNKNOWN_CODE_LOCK_SECONDS = 900

PASSWORD_HASHERS = ["brands.identity.hashing.OneAtATime", "django.contrib.auth.hashers.PBKDF2SHA1PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
# Registration creates the account only after the address is confirmed, so that it does not reveal which addresses are
# known. Off if no mail can be sent.
REGISTRATION_CONFIRMS_EMAIL = env.flag(
    "REGISTRATION_CONFIRMS_EMAIL", default=EMAIL_BACKEND != "django.core.mail.backends.dummy.EmailBackend"
)
ACCESS_TOKEN_MINUTES = 15
REFRESH_TOKEN_DAYS = 30
JWT_ISSUER = "loyalty"
JWT_AUDIENCE = "loyalty-api"
# With a key set, another issuer's tokens are accepted besides our own.
JWT_EXTERNAL_JWKS_URL = env.text("JWT_EXTERNAL_JWKS_URL")
JWT_EXTERNAL_ISSUER = env.text("JWT_EXTERNAL_ISSUER")
JWT_EXTERNAL_AUDIENCE = env.text("JWT_EXTERNAL_AUDIENCE")
# The issuer may only authenticate customers of these brands (their IDs), never users of the portal.
JWT_EXTERNAL_BRANDS = frozenset(env.listed("JWT_EXTERNAL_BRANDS", env.at_least(1)))
JWT_EXTERNAL_ALGORITHM = env.text("JWT_EXTERNAL_ALGORITHM", "RS256")
if JWT_EXTERNAL_JWKS_URL and not (JWT_EXTERNAL_ISSUER and JWT_EXTERNAL_AUDIENCE):
    message = "JWT_EXTERNAL_ISSUER and JWT_EXTERNAL_AUDIENCE are missing: JWT_EXTERNAL_JWKS_URL needs both"
    raise ImproperlyConfigured(message)
if JWT_EXTERNAL_JWKS_URL and not JWT_EXTERNAL_BRANDS:
    message = (
        "JWT_EXTERNAL_BRANDS is missing: name the ids of the brands for whose customers JWT_EXTERNAL_ISSUER speaks"
    )
    raise ImproperlyConfigured(message)
if JWT_EXTERNAL_JWKS_URL and JWT_EXTERNAL_ISSUER == JWT_ISSUER:
    message = "JWT_EXTERNAL_ISSUER has a bad value: it must differ from JWT_ISSUER, or no token would tell its issuer"
    raise ImproperlyConfigured(message)
if JWT_EXTERNAL_ALGORITHM not in {"RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"}:
    message = "JWT_EXTERNAL_ALGORITHM has a bad value: name one with a public key, such as RS256 or ES256"
    raise ImproperlyConfigured(message)
SIMPLE_JWT = {
    "ALGORITHM": "HS256",
    "SIGNING_KEY": env.secret("JWT_SIGNING_KEY", otherwise=SECRET_KEY),
    "ISSUER": JWT_ISSUER,
    "AUDIENCE": JWT_AUDIENCE,
    "ACCESS_TOKEN_LIFETIME": timedelta(minutes=ACCESS_TOKEN_MINUTES),
    "REFRESH_TOKEN_LIFETIME": timedelta(days=REFRESH_TOKEN_DAYS),
}

# --- Staff -----------------------------------------------------------------------------------------------------------
# Whether all users of the portal need a second factor; a brand may also require it for its own staff.
STAFF_SECOND_FACTOR_REQUIRED = env.flag("STAFF_SECOND_FACTOR_REQUIRED", default=False)
# The base of links in mails to staff. Without it, the host of the request, unless it is a brand's.
PORTAL_URL = env.value("PORTAL_URL", "", env.origin)
# The portal asks for confirmation if staff add or take more points than this by hand.
ADJUSTMENT_CONFIRM_ABOVE = 1_000

# --- Quotas of brands -------------------------------------------------------------------------------------------------
# The default quotas of brands, which the operator can change in the portal; 0 is unlimited. Days are UTC.
QUOTAS = env.changed(
    "QUOTAS",
    {
        "codes": 50_000_000,
        "uploads": 200,
        "storage": 20_000_000_000,
        "jobs": 500,
        "events": 5_000_000,
        "webhooks": 1_000_000,
        "mails": 200_000,
        "broadcasts": 200_000,
    },
    env.at_least(0),
)
# Counts the quotas that are numbers of rows: a function of brand IDs, the start of the day, and the resources.
QUOTA_USAGE = "authcodes.usage.counted"

# --- Wallets ---------------------------------------------------------------------------------------------------------
# A directory with <brand id>/apple.json and <brand id>/google.json, for keys that must not be in the database.
WALLET_KEYS_DIR = env.text("WALLET_KEYS_DIR")
# Changes within this time are sent as one update of a pass.
WALLET_MERGE_SECONDS = 2
APNS_ADDRESS = "https://api.push.apple.com"
GOOGLE_WALLET_ADDRESS = "https://walletobjects.googleapis.com/walletobjects/v1"

# --- Rewards ---------------------------------------------------------------------------------------------------------
# How long a manager can undo the use of a code at the till.
REDEMPTION_UNDO_MINUTES = 15
# Accounts whose points expire in one transaction; an accrual may have to wait for all of it.
EXPIRY_CHUNK = 500
# The same for accounts whose levels are settled.
LEVELS_CHUNK = 500

# Writes approved points onto a row, by model: a function of row, values, user and time.
APPROVED_POINTS = {
    "authcodes.batchrange": "authcodes.codes.batches.set_approved",
    "authcodes.product": "authcodes.codes.products.set_approved",
    "loyalty.brandlevel": "loyalty.points.approvals.set_value",
    "campaigns.earningrule": "loyalty.points.approvals.set_value",
}
# Default data of a new brand: functions of the brand, called in the transaction that creates it.
BRAND_DEFAULTS = ["loyalty.notifications.defaults.create"]
# The page that starts the export of a list.
LIST_EXPORT = "authcodes.admin.list_export.view"
# Renders a template as PDF.
DOCUMENTS = "authcodes.printing.documents.pdf"
# The page that starts the export of a customer's data.
CUSTOMER_DATA_EXPORT = "authcodes.admin.data_exports.view"

# --- Codes -----------------------------------------------------------------------------------------------------------
# Version -> secret; the highest version signs new batches, the older ones verify printed codes.
CODE_TAG_SECRETS = env.versioned_secrets("CODE_TAG_SECRETS") or ({1: SECRET_KEY} if LOCAL else {})
# Version -> secret, for encrypting credentials of wallets, senders and receivers. The highest version encrypts.
STORAGE_SECRETS = env.versioned_secrets("STORAGE_SECRETS") or ({1: SECRET_KEY} if LOCAL else {})
# Private networks that addresses entered by staff (webhooks, external systems) may use, such as 10.1.0.0/16.
OUTGOING_PRIVATE_NETWORKS = env.listed("OUTGOING_PRIVATE_NETWORKS", env.network)
# How long after a guest scan a customer can log in and adopt it, or add the location.
GUEST_SCAN_MINUTES = 30
# Prefixes that a brand may reserve. Every code begins with one, and no other brand can use it.
CODE_PREFIXES_PER_BRAND = 100
GENERATION_CHUNK = 50_000
JOBS_PER_BRAND = env.integer("JOBS_PER_BRAND", 2, minimum=1)
# Workers of the queue `work` on all hosts together. The last free one is reserved for brands without a running job.
JOB_WORKERS = env.integer("JOB_WORKERS", 4, minimum=2)
# How long the data for undoing an import is stored; at least one day.
IMPORT_DAYS = 30

# --- HTTP ------------------------------------------------------------------------------------------------------------
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_AGE = 12 * 3600
X_FRAME_OPTIONS = "DENY"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["brands.identity.authentication.BearerToken"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["core.api.json_codec.Json"],
    "DEFAULT_PARSER_CLASSES": ["core.api.json_codec.StrictJson"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "core.api.json_codec.Negotiation",
    "DEFAULT_SCHEMA_CLASS": "core.api.openapi.autoschema.Described",
    "EXCEPTION_HANDLER": "core.api.exception_handler.answer_error",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "COERCE_DECIMAL_TO_STRING": False,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Loyalty Points Accrual and Auth Code Service",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SORT_OPERATIONS": False,
    "ENFORCE_NON_BLANK_FIELDS": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": ["config.schema.complete"],
    "WEBHOOKS": WEBHOOKS,
    "GET_LIB_DOC_EXCLUDES": "config.schema.undocumented",
    "PATH_CONVERTER_OVERRIDES": {
        "scanned": {"type": "string", "minLength": 1, "maxLength": 600},
        "code": {"type": "string", "minLength": 1, "maxLength": 200},
        "id": {"type": "integer", "minimum": 0, "maximum": 10**18 - 1},
    },
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {
        "deepLinking": True,
        "tryItOutEnabled": True,
        "displayRequestDuration": True,
        "defaultModelsExpandDepth": 0,
        "validatorUrl": None,  # otherwise every page view would send this address to swagger.io
    },
}

# --- Pages, files, texts ---------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
# The languages of the portal, the scan page and the API's answers, each with its own name.
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("ar", "العربية")]
LOCALE_PATHS = [BASE_DIR / "locale"]
# The language of customers who request none: a function of brand_id and user_id, which is None for a guest.
CUSTOMER_LANGUAGE = "loyalty.members.languages.language_of"
# Translations of names in a message: functions of brand_id, the message's values and the language.
TRANSLATED_NAMES = ["campaigns.progress.names.in_language", "authcodes.recalls.names.in_language"]
FORMAT_MODULE_PATH = ["config.formats"]
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
STATIC_URL = "static/"
STATIC_ROOT = Path(env.text("STATIC_ROOT", str(DATA_DIR / "static"))).expanduser().resolve()
# Files of jobs and uploads of staff. The local disk serves one host; several hosts need a shared bucket.
MEDIA_ROOT = DATA_DIR / "media"
S3_BUCKET = env.text("S3_BUCKET")
STORAGES = {
    "default": env.bucket(S3_BUCKET, endpoint=env.text("AWS_ENDPOINT_URL_S3"))
    if S3_BUCKET
    else {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "core.web.static_files.CompressedFiles"},
}
# Fonts (TTF, OTF, TTC) for characters that labels otherwise lack, such as Chinese; web and workers need the same.
LABEL_FONTS = env.listed("LABEL_FONTS", env.file)
# The contact for customers about codes that were not scanned through a brand's app or key.
SUPPORT_EMAIL = env.text("SUPPORT_EMAIL", "support@localhost")
CSRF_FAILURE_VIEW = "core.api.exception_handler.csrf_failure"
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"
UNFOLD = {
    "SITE_TITLE": "Loyalty portal",
    "SITE_HEADER": "Loyalty portal",
    "SITE_URL": None,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": "portal.site.mark"}],
    "SHOW_HISTORY": True,
    "STYLES": ["portal.site.stylesheet"],
    "COLORS": {each: f"portal.shell.theme.{each}" for each in ("base", "primary", "field")},
    "SIDEBAR": {
        "show_search": False,
        "command_search": True,
        "show_all_applications": False,
        "navigation": "portal.shell.navigation.navigation",
    },
    "COMMAND": {"search_models": False, "show_history": False},
    "LOGIN": {"form": "portal.shell.login.LoginForm"},
    "ACCOUNT": {"navigation": "portal.staff_login.navigation.account_links"},
    "DASHBOARD_CALLBACK": "authcodes.admin.home.page.home",
}

# --- Observability ---------------------------------------------------------------------------------------------------
LOG_FORMAT = env.choice("LOG_FORMAT", "line" if LOCAL else "json", {"line", "json"})
# A line for every request and every event; costs a few per cent of a scan's time.
LOG_ACTIVITY = env.flag("LOG_ACTIVITY", default=False)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"()": "core.observability.log_format.PlainLine"},
        "json": {"()": "core.observability.log_format.JsonLine"},
    },
    "filters": {
        "routes": {"()": "core.observability.log_format.RoutesInsteadOfPaths"},
        "refusals": {"()": "core.observability.log_format.ExpectedErrors"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": env.value("LOG_LEVEL", "INFO", env.log_level)},
    "loggers": {
        # Django's own handler for these does not know the request.
        "django": {"handlers": [], "propagate": True},
        # These log a request's path, which may contain a token or a code's tag.
        "django.request": {"filters": ["routes", "refusals"]},
        **{f"django.security.{name}": {"filters": ["refusals"]} for name in SUSPICIOUS},
        "django.security.csrf": {"filters": ["routes"]},
        # runserver's own line for each request; RequestId writes one as well.
        "django.server": {"handlers": [], "level": "CRITICAL"},
        "activity": {"level": "INFO" if LOG_ACTIVITY else "WARNING"},
        # At level info they log every call of the sweeper, every two seconds.
        "celery.app.trace": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        # At level info it logs each passkey that is used.
        "fido2": {"level": "WARNING"},
    },
}
# Receivers of errors and traces; their packages are optional, and imported only if these are set.
SENTRY_DSN = env.text("SENTRY_DSN")
OTEL_EXPORTER_OTLP_ENDPOINT = env.text("OTEL_EXPORTER_OTLP_ENDPOINT")
if SENTRY_DSN:
    env.needed("sentry_sdk", by="SENTRY_DSN")
if OTEL_EXPORTER_OTLP_ENDPOINT:
    env.needed("opentelemetry.sdk", by="OTEL_EXPORTER_OTLP_ENDPOINT")
    env.needed("opentelemetry.exporter.otlp.proto.http", by="OTEL_EXPORTER_OTLP_ENDPOINT")
# Where this host's processes store their counters; not shared with other hosts or containers.
METRICS_DIR = Path(env.text("METRICS_DIR", str(DATA_DIR / "metrics"))).expanduser().resolve()
# /metrics answers only to callers with the token or from these networks; without either, to nobody.
METRICS_TOKEN = env.secret("METRICS_TOKEN", required=False)
METRICS_NETWORKS = env.listed("METRICS_NETWORKS", env.network)
# Where a worker serves its own metrics, as `0.0.0.0:9101`; for hosts and containers without a web process.
METRICS_WORKER_ADDRESS = env.address("METRICS_WORKER_ADDRESS")
