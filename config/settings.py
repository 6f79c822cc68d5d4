"""All settings: what differs between installations from the environment, as the table in README.md explains."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from config import environment as env
from config.ports import (  # noqa: F401 - settings
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

# Tried out on one machine: bin/run keeps the secret, and nobody calls from outside. Else nothing has a safe default.
LOCAL = not env.text("SECRET_KEY") or not env.text("DATABASE_URL")
HTTPS = env.flag("HTTPS", default=not LOCAL)

SECRET_KEY = env.secret(
    "SECRET_KEY",
    otherwise=env.saved_value(DATA_DIR / "secret_key"),
    advice="; for a try-out start bin/run first, or set DATA_DIR to where it keeps its data",
)
ALLOWED_HOSTS = env.listed("ALLOWED_HOSTS", str, "localhost,.localhost,127.0.0.1,[::1]" if LOCAL else "")
if not ALLOWED_HOSTS:
    message = "ALLOWED_HOSTS is missing: name the hostnames of the portal and of every brand, comma-separated"
    raise ImproperlyConfigured(message)
if LOCAL and not env.text("HTTPS") and (public_hosts := env.not_of_this_machine(ALLOWED_HOSTS)):
    message = (
        f"DATABASE_URL or SECRET_KEY is missing, but ALLOWED_HOSTS names {public_hosts[0]}: set both for a service "
        "that others reach, which runs with HTTPS then; or set HTTPS to 0 or 1 yourself, if this is a local try-out"
    )
    raise ImproperlyConfigured(message)
CSRF_TRUSTED_ORIGINS = env.listed("CSRF_TRUSTED_ORIGINS", str)

INSTALLED_APPS = [
    "config",
    "authcodes",
    "loyalty",
    "campaigns",
    "events",
    "jobs",
    "brands.staff_login",
    "brands",
    # Before unfold and Django: their templates and translations count first.
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
    "brands.access.key_calls.KeyCallsLog",
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

# --- Shares of brands ------------------------------------------------------------------------------------------------
# False takes the bounds of a brand away from threads, lanes and jobs: bench measures what they are for.
FAIR_SHARES = True

# --- PostgreSQL ------------------------------------------------------------------------------------------------------
DATABASE_STATEMENT_TIMEOUT_MS = env.integer("DATABASE_STATEMENT_TIMEOUT_MS", 60_000)
# Only core.db.sql binds on the server, so only its statements are prepared; PgBouncer before 1.21 cannot keep them.
PGBOUNCER = env.flag("PGBOUNCER", default=False)
# Whoever waits for an answer waits no longer than this for a lock (config.wsgi): what a large change of codes holds
# would soon hold every thread of the web.
WEB_LOCK_TIMEOUT_MS = 2_000
# Workers of points serve all brands: one whose rows somebody holds is put off.
WORKER_LOCK_TIMEOUT_MS = 2_000
# And no longer than this for a statement: one heavy filter would hold a thread of the web, a few all of them. What may
# take longer (exports, imports, jobs, a change of many codes) sets its own limit or runs in a worker.
WEB_STATEMENT_TIMEOUT_MS = env.integer("WEB_STATEMENT_TIMEOUT_MS", 5_000)
_session: dict[str, Any] = {
    "application_name": "loyalty",
    "connect_timeout": 5,
    "prepare_threshold": None if PGBOUNCER else 1,
}
if DATABASE_STATEMENT_TIMEOUT_MS:
    # PgBouncer refuses start-up options unless told otherwise; 0 leaves them out.
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
        # Roles and row-level security: core.db.row_guard. Roles are the cluster's, so they are called after the
        # database.
        "GUARD": env.flag("DATABASE_GUARD", default=True),
        "ROLES": env.text("DATABASE_ROLES"),
    }
}
# Who owns the tables and migrates them, where that is not the application's own login.
if env.text("DATABASE_OWNER_URL"):
    _owner = env.database("DATABASE_OWNER_URL", embedded=DATA_DIR / "run", options=_session)
    # Another login, never another database: tests name their own.
    _login = ("USER", "PASSWORD", "HOST", "PORT", "OPTIONS")
    DATABASES["default"]["OWNER"] = {name: _owner.get(name, "") for name in _login}
# A streaming replica for the dashboard and for exports, as far as it has caught up: core.db.replica.
if env.text("REPLICA_DATABASE_URL"):
    DATABASES["replica"] = {
        **DATABASES["default"],
        **env.database("REPLICA_DATABASE_URL", embedded=DATA_DIR / "run", options=_session),
        "TEST": {"MIRROR": "default"},
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "brands.User"

# --- Redis, Celery ---------------------------------------------------------------------------------------------------
REDIS_URL = env.text("REDIS_URL", f"unix://{DATA_DIR}/run/valkey.sock?db=0")
REDIS_TIMEOUT_SECONDS = 0.5
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "loyalty",
    }
}

CELERY_BROKER_URL = env.text("CELERY_BROKER_URL", env.celery_broker(REDIS_URL))
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
    # Queues that are kept by several nodes, and a publisher who hears that a message is in them.
    CELERY_TASK_DEFAULT_QUEUE_TYPE = CELERY_TASK_CREATE_MISSING_QUEUE_TYPE = "quorum"
    CELERY_BROKER_TRANSPORT_OPTIONS = {"confirm_publish": True, "connect_timeout": 2}
# A publish that fails is no loss (the sweeper finds the row), so it must never make a customer wait.
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 5
# What beat calls has a worker of its own, so that long jobs never keep it waiting.
CELERY_TASK_DEFAULT_QUEUE = "regular" if FAIR_SHARES else "work"
# Celery's Django fixup closes the database connection before and after every task unless this is set;
# config.celery drops the dead ones instead.
CELERY_DB_REUSE_MAX = 1_000_000
EVENT_SWEEP_SECONDS = 2
CELERY_BEAT_SCHEDULE = {
    "sweep-events": {
        "task": "events.tasks.sweep",
        "schedule": EVENT_SWEEP_SECONDS,
        "options": {"expires": EVENT_SWEEP_SECONDS},
    },
    "locate-scans": {
        "task": "authcodes.tasks.locate_scans",
        "schedule": EVENT_SWEEP_SECONDS,
        "options": {"expires": EVENT_SWEEP_SECONDS},
    },
    "forget-webhook-messages": {"task": "loyalty.tasks.purge_webhook_messages", "schedule": 3_600},
    "forget-events": {"task": "events.tasks.purge_events", "schedule": 3_600, "options": {"expires": 3_600}},
    "forget-paid-events": {
        "task": "events.tasks.purge_paid_events",
        "schedule": 3_600,
        "options": {"expires": 3_600},
    },
    "check-sender-domains": {"task": "loyalty.tasks.check_sender_domains", "schedule": 3_600},
    "check-wallets": {"task": "loyalty.tasks.check_wallets", "schedule": 86_400},
    # Each brand's night begins when its day does; what is done for the day is asked for in vain.
    "release-points": {"task": "loyalty.tasks.release_points", "schedule": 60, "options": {"expires": 60}},
    "settle-levels": {"task": "loyalty.tasks.settle_levels", "schedule": 60, "options": {"expires": 60}},
    "expire-points": {"task": "loyalty.tasks.expire_points", "schedule": 600, "options": {"expires": 600}},
    "send-staff-mails": {"task": "brands.tasks.send_staff_mails", "schedule": 60, "options": {"expires": 60}},
    "store-stopped-attempts": {
        "task": "brands.tasks.store_stopped_attempts",
        "schedule": 300,
        "options": {"expires": 300},
    },
    "warn-of-quotas": {"task": "brands.tasks.warn_of_quotas", "schedule": 600, "options": {"expires": 600}},
    "tell-used-up-budgets": {
        "task": "campaigns.tasks.notify_used_up_budgets",
        "schedule": 300,
        "options": {"expires": 300},
    },
    "evaluate-segments": {"task": "campaigns.tasks.evaluate_segments", "schedule": 60, "options": {"expires": 60}},
    "begin-broadcasts": {"task": "campaigns.tasks.begin_broadcasts", "schedule": 60, "options": {"expires": 60}},
    "settle-broadcasts": {"task": "campaigns.tasks.settle_broadcasts", "schedule": 600, "options": {"expires": 600}},
    "welcome-members": {
        "task": "campaigns.tasks.welcome_members",
        "schedule": 60,
        "options": {"expires": 60},
    },
    "celebrate-birthdays": {
        "task": "campaigns.tasks.celebrate_birthdays",
        "schedule": 60,
        "options": {"expires": 60},
    },
    "refresh-member-lists": {
        "task": "loyalty.tasks.refresh_member_lists",
        "schedule": 60,
        "options": {"expires": 60},
    },
    "find-referrals": {"task": "loyalty.tasks.find_referrals", "schedule": 30, "options": {"expires": 30}},
    "run-scheduled-reports": {
        "task": "portal.tasks.run_scheduled_reports",
        "schedule": 60,
        "options": {"expires": 60},
    },
    "forget-sessions": {"task": "brands.tasks.purge_ended_sessions", "schedule": 86_400},
    "forget-confirmations": {"task": "loyalty.tasks.purge_confirmations", "schedule": 3_600},
    "release-opening-balances": {"task": "loyalty.tasks.release_opening_balances", "schedule": 3_600},
    "resume-jobs": {"task": "jobs.tasks.resume_jobs", "schedule": 2, "options": {"expires": 2}},
    "forget-files": {"task": "authcodes.tasks.purge_files", "schedule": 60, "options": {"expires": 60}},
    "purge-orphaned-uploads": {"task": "authcodes.tasks.purge_orphaned_uploads", "schedule": 3_600},
    "purge-replays": {"task": "campaigns.tasks.purge_replays", "schedule": 3_600},
    "purge-fake-reports": {"task": "authcodes.tasks.purge_fake_reports", "schedule": 3_600},
    "forget-lookups": {"task": "authcodes.tasks.purge_lookups", "schedule": 86_400},
    "roll-up-days": {"task": "authcodes.tasks.roll_up_closed_days", "schedule": 600, "options": {"expires": 600}},
    "roll-up-programme": {"task": "loyalty.tasks.roll_up_programme", "schedule": 600, "options": {"expires": 600}},
}
WEBHOOK_TIMEOUT_SECONDS = 10
OUTGOING_BATCH = 4
OUTGOING_LEASE_SECONDS = 8
OUTGOING_WORKERS = env.integer("OUTGOING_WORKERS", 4, minimum=2)
# Of all lanes together; the sender has twice as many threads.
OUTGOING_PER_BRAND = env.integer("OUTGOING_PER_BRAND", 6, minimum=1)
EVENT_LEASE_SECONDS = 8
EVENT_RETRY_HOURS = 24
# A return or a delivery may be reported before its order: so long it waits for the order, and is rejected then.
ORDER_WAIT_HOURS = 72
# Longer than anything is tried (72 hours), and than a stored answer is replayed.
EVENT_LOG_DAYS = 30
# 0 keeps them for ever. Far longer than a sender repeats an event; campaigns/progress/consistency.py counts on 30 days.
POINT_EVENT_DAYS = env.integer("POINT_EVENT_DAYS", 90, minimum=0)
if 0 < POINT_EVENT_DAYS < 30:
    raise ImproperlyConfigured("POINT_EVENT_DAYS must be 30 or more, or 0 to keep these events for ever")
# Reports of suspected fakes; 0 keeps them for ever.
FAKE_REPORT_DAYS = env.integer("FAKE_REPORT_DAYS", 730, minimum=0)
EVENT_BATCH = 50
# manage.py receive_sqs takes events from this queue, of the brands that are named (their ids; * for every one).
SQS_QUEUE_URL = env.text("SQS_QUEUE_URL")
SQS_BRANDS = env.listed("SQS_BRANDS", env.brand_id)
READY_EVENT_AGE_SECONDS = 300
READY_JOB_WAIT_SECONDS = 120

# --- Mail, SMS, push -------------------------------------------------------------------------------------------------
# Tried out on one machine, mail is written to the log; else it takes a server to send any.
_mail = env.mail("EMAIL_URL", "consolemail://" if LOCAL else "smtp://localhost:25")
EMAIL_BACKEND = env.text("EMAIL_BACKEND", _mail["EMAIL_BACKEND"])
EMAIL_HOST, EMAIL_PORT = _mail["EMAIL_HOST"], _mail["EMAIL_PORT"]
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail["EMAIL_HOST_USER"], _mail["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS, EMAIL_USE_SSL = "EMAIL_USE_TLS" in _mail, "EMAIL_USE_SSL" in _mail
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.text("DEFAULT_FROM_EMAIL", "loyalty@localhost")
# Whom to ask for the proofs of senders' domains; the machine's own resolvers if none are named.
DNS_SERVERS = env.listed("DNS_SERVERS", env.name_server)
TWILIO_URL = "https://api.twilio.com"
FCM_URL = "https://fcm.googleapis.com"
# Access tokens for push and for Google Wallet.
GOOGLE_TOKEN_URL = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address

# --- Threads of the web, in each of its processes -------------------------------------------------------------------
# Each class of requests has its own, of which a brand may have all but one, half of those for pages
# (config.serving.admission).
WEB_API_THREADS = 3
WEB_EVENT_THREADS = 4
WEB_LOGIN_THREADS = 2
WEB_PAGE_THREADS = 4
# A body has so long to come, and longer the larger it is.
WEB_BODY_SECONDS = 10

# --- Who may call, and how often -------------------------------------------------------------------------------------
TRUSTED_PROXIES = env.integer("TRUSTED_PROXIES", 0)
RATE_LIMITS = env.changed(
    "RATE_LIMITS",
    {
        # All calls with a brand's hub keys; as many with its app keys, of which one network makes at most a tenth.
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
        # Codes of members who refer friends, good or not: of a network, and of a customer.
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
        # Different plain codes that are tried, valid or not (docs/guessing.md): of a customer, of a network of people
        # who are new, of a brand; "near": of a hundred numbers that follow each other.
        "plain_codes": "40/hour",
        "plain_codes_day": "60/day",
        "plain_codes_near": "30/day",
        "plain_codes_network": "200/day",
        "plain_codes_network_near": "60/day",
        "plain_codes_brand": "100000/day",
    },
    env.rate,
)
# Wrong passwords for one account at one sign-in endpoint (the portal, or the API at a brand) from devices it was never
# used from.
LOGIN_TRIES_PER_DAY = 50
LOGIN_PAUSED_MAIL = "loyalty.members.account_mail.login_paused"
# Called with a user_id in the transaction that notes that their e-mail address is theirs.
ADDRESS_CONFIRMED = "loyalty.members.confirmations.release_points"
UNKNOWN_CODE_LOCK_SECONDS = 900

PASSWORD_HASHERS = ["brands.identity.hashing.OneAtATime", "django.contrib.auth.hashers.PBKDF2SHA1PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
# Whoever registers confirms the address before there is an account: so nobody learns which addresses are known. Off
# where no mail can be sent.
REGISTRATION_CONFIRMS_EMAIL = env.flag(
    "REGISTRATION_CONFIRMS_EMAIL", default=EMAIL_BACKEND != "django.core.mail.backends.dummy.EmailBackend"
)
ACCESS_TOKEN_MINUTES = 15
REFRESH_TOKEN_DAYS = 30
JWT_ISSUER = "loyalty"
JWT_AUDIENCE = "loyalty-api"
# Another issuer's tokens are accepted beside our own when its key set is named.
JWT_EXTERNAL_JWKS_URL = env.text("JWT_EXTERNAL_JWKS_URL")
JWT_EXTERNAL_ISSUER = env.text("JWT_EXTERNAL_ISSUER")
JWT_EXTERNAL_AUDIENCE = env.text("JWT_EXTERNAL_AUDIENCE")
# It speaks for customers of these brands (their ids) alone, and never for anybody who works in the portal.
JWT_EXTERNAL_BRANDS = frozenset(env.listed("JWT_EXTERNAL_BRANDS", env.number))
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
# Whether everybody who logs in to the portal needs a second factor; a brand may demand it for its own staff.
STAFF_SECOND_FACTOR_REQUIRED = env.flag("STAFF_SECOND_FACTOR_REQUIRED", default=False)
# Where links in mails to staff lead; without it to the host that the request was sent to, if it is no brand's.
PORTAL_URL = env.origin("PORTAL_URL")
# Points that a member of staff may add or take by hand before the page asks whether that many are meant.
ADJUSTMENT_CONFIRM_ABOVE = 1_000

# --- Quotas of brands -------------------------------------------------------------------------------------------------
# What each brand may use where the operator sets nothing else for it in the portal; 0 is unlimited. Days are UTC.
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
    env.amount,
)
# What counts those that are rows, by brand: a function of brands' ids, when the day began, and which quotas.
QUOTA_USAGE = "authcodes.usage.counted"

# --- Wallets ---------------------------------------------------------------------------------------------------------
# A directory with <brand id>/apple.json and <brand id>/google.json, for keys that are not to be in the database.
WALLET_KEYS_DIR = env.text("WALLET_KEYS_DIR")
# Changes within so many seconds become one update of a pass.
WALLET_MERGE_SECONDS = 2
APNS_ADDRESS = "https://api.push.apple.com"
GOOGLE_WALLET_ADDRESS = "https://walletobjects.googleapis.com/walletobjects/v1"

# --- Rewards ---------------------------------------------------------------------------------------------------------
# How long a manager may take back that a code was used at the till.
REDEMPTION_UNDO_MINUTES = 15
# Accounts whose points expire in one transaction, which is as long as an accrual may have to wait.
EXPIRY_CHUNK = 500
# The same of accounts whose levels are settled.
LEVELS_CHUNK = 500

# What writes approved points onto a row of each kind: a function of row, values, who and when.
APPROVED_POINTS = {
    "authcodes.batchrange": "authcodes.codes.batches.set_approved",
    "authcodes.product": "authcodes.codes.products.set_approved",
    "loyalty.brandlevel": "loyalty.points.approvals.set_value",
    "campaigns.earningrule": "loyalty.points.approvals.set_value",
}
# What a new brand begins with: functions of the brand, in the transaction that creates it.
BRAND_DEFAULTS = ["loyalty.notifications.defaults.create"]
# The page that starts the export of a list.
LIST_EXPORT = "authcodes.admin.list_export.view"
# Makes a PDF of a template.
DOCUMENTS = "authcodes.printing.documents.pdf"
# The page that starts the export of a customer's data.
CUSTOMER_DATA_EXPORT = "authcodes.admin.data_exports.view"

# --- Codes -----------------------------------------------------------------------------------------------------------
# Version -> secret; the highest version signs new batches, older ones keep verifying what is already printed.
CODE_TAG_SECRETS = dict(env.listed("CODE_TAG_SECRETS", env.versioned_secret)) or ({1: SECRET_KEY} if LOCAL else {})
# Version -> secret; they encrypt what must be read again: keys of wallets, senders, receivers. The highest encrypts.
STORAGE_SECRETS = dict(env.listed("STORAGE_SECRETS", env.versioned_secret)) or ({1: SECRET_KEY} if LOCAL else {})
# Private networks that staff's addresses (webhooks, external systems) may lead to, such as 10.1.0.0/16; else none.
OUTGOING_PRIVATE_NETWORKS = env.listed("OUTGOING_PRIVATE_NETWORKS", env.network)
# How long after it a guest may still log in and take the scan over, or say where it happened.
GUEST_SCAN_MINUTES = 30
# Prefixes that a brand may reserve; every code begins with one, and no other brand can use it.
CODE_PREFIXES_PER_BRAND = 100
GENERATION_CHUNK = 50_000
JOBS_PER_BRAND = env.integer("JOBS_PER_BRAND", 2, minimum=1)
# All workers of the queue `work` together, on all hosts: the last that is free is for a brand that has none.
JOB_WORKERS = env.integer("JOB_WORKERS", 4, minimum=2)
# Undoing an import takes what it was made of: for a day at least.
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
        "validatorUrl": None,  # or every page view would tell swagger.io the address of this one
    },
}

# --- Pages, files, words ---------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
# What customers read on the scan page and in the API's answers, each by its own name; the portal is English.
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("ar", "العربية")]
LOCALE_PATHS = [BASE_DIR / "locale"]
# Which of them a customer reads who asks for none: a function of brand_id and user_id, which is None for a guest.
CUSTOMER_LANGUAGE = "loyalty.members.languages.language_of"
# What a message's names are in its language: functions of brand_id, the message's values and the language.
TRANSLATED_NAMES = ["campaigns.progress.names.in_language", "authcodes.recalls.names.in_language"]
FORMAT_MODULE_PATH = ["config.formats"]
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
STATIC_URL = "static/"
STATIC_ROOT = Path(env.text("STATIC_ROOT", str(DATA_DIR / "static"))).expanduser().resolve()
# What jobs make and staff upload. On this disk it serves one host; several share a bucket.
MEDIA_ROOT = DATA_DIR / "media"
S3_BUCKET = env.text("S3_BUCKET")
STORAGES = {
    "default": env.bucket(S3_BUCKET, endpoint=env.text("AWS_ENDPOINT_URL_S3"))
    if S3_BUCKET
    else {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "core.web.static_files.CompressedFiles"},
}
# Fonts (TTF, OTF, TTC) for what labels could not show else, such as Chinese; for web and workers alike.
LABEL_FONTS = env.listed("LABEL_FONTS", env.file)
# Whom a customer may ask about a code that nobody's app or key brought.
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

# --- What operators see ----------------------------------------------------------------------------------------------
LOG_FORMAT = env.choice("LOG_FORMAT", "line" if LOCAL else "json", {"line", "json"})
# A line for every request and every event; costs some percent of a scan.
LOG_ACTIVITY = env.flag("LOG_ACTIVITY", default=False)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"()": "core.observability.log_format.Line"},
        "json": {"()": "core.observability.log_format.JsonLine"},
    },
    "filters": {
        "routes": {"()": "core.observability.log_format.RoutesInsteadOfPaths"},
        "refusals": {"()": "core.observability.log_format.ExpectedErrors"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": env.text("LOG_LEVEL", "INFO")},
    "loggers": {
        # Django has a handler of its own for these, which knows no request.
        "django": {"handlers": [], "propagate": True},
        # These name a request by its path, which may hold a token or a code's tag.
        "django.request": {"filters": ["routes", "refusals"]},
        **{f"django.security.{name}": {"filters": ["refusals"]} for name in SUSPICIOUS},
        "django.security.csrf": {"filters": ["routes"]},
        # runserver's own line for each request; RequestId writes ours.
        "django.server": {"handlers": [], "level": "CRITICAL"},
        "activity": {"level": "INFO" if LOG_ACTIVITY else "WARNING"},
        # At info they say every two seconds that the sweeper was sent, came and found nothing.
        "celery.app.trace": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        # At info it names each passkey that is used.
        "fido2": {"level": "WARNING"},
    },
}
# Who takes errors and spans; the packages are optional, and imported only then.
SENTRY_DSN = env.text("SENTRY_DSN")
OTEL_EXPORTER_OTLP_ENDPOINT = env.text("OTEL_EXPORTER_OTLP_ENDPOINT")
if SENTRY_DSN:
    env.needed("sentry_sdk", by="SENTRY_DSN")
if OTEL_EXPORTER_OTLP_ENDPOINT:
    env.needed("opentelemetry.sdk", by="OTEL_EXPORTER_OTLP_ENDPOINT")
    env.needed("opentelemetry.exporter.otlp.proto.http", by="OTEL_EXPORTER_OTLP_ENDPOINT")
# Where the processes of this host count; no other host and no other container shares it.
METRICS_DIR = Path(env.text("METRICS_DIR", str(DATA_DIR / "metrics"))).expanduser().resolve()
# Who may read /metrics: who sends the token, and who calls from these networks. Without either nobody finds it.
METRICS_TOKEN = env.secret("METRICS_TOKEN", required=False)
METRICS_NETWORKS = env.listed("METRICS_NETWORKS", env.network)
# Where a worker offers its own, `0.0.0.0:9101`; for workers on hosts and in containers without a web process.
METRICS_WORKER_ADDRESS = env.address("METRICS_WORKER_ADDRESS")
