"""All settings, each from the environment; the table in README.md explains every variable."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from config import environment as env

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(env.text("DATA_DIR", str(BASE_DIR / "var"))).expanduser().resolve()

# Tried out on one machine: bin/run keeps the secret, and nobody calls from outside. Else nothing has a safe default.
LOCAL = not env.text("SECRET_KEY") or not env.text("DATABASE_URL")
DEBUG = env.flag("DEBUG", default=False)
HTTPS = env.flag("HTTPS", default=not LOCAL)

SECRET_KEY = env.secret("SECRET_KEY", otherwise=env.kept(DATA_DIR / "secret_key"))
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "localhost,.localhost,127.0.0.1,[::1]" if LOCAL else "")
if not ALLOWED_HOSTS:
    message = "ALLOWED_HOSTS is missing: name the hostnames of the portal and of every brand, comma-separated"
    raise ImproperlyConfigured(message)
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "config",
    "authcodes",
    "loyalty",
    "campaigns",
    "brands",
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    "brands.portal_site.PortalConfig",
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
    "config.requests.RequestId",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
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

# --- PostgreSQL ------------------------------------------------------------------------------------------------------
DATABASE_STATEMENT_TIMEOUT_MS = env.integer("DATABASE_STATEMENT_TIMEOUT_MS", 60_000)
# Only brands.sql binds on the server, so only its statements are prepared; PgBouncer before 1.21 cannot keep them.
PGBOUNCER = env.flag("PGBOUNCER", default=False)
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
    }
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
CELERY_BROKER_TRANSPORT_OPTIONS = (
    {
        "socket_connect_timeout": 2,
        "visibility_timeout": 60,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
    }
    if CELERY_BROKER_URL.startswith("redis")
    else {}
)
# A publish that fails is no loss (the sweeper finds the row), so it must never make a customer wait.
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 5
CELERY_TASK_DEFAULT_QUEUE = "work"
CELERY_TASK_ROUTES = {"loyalty.tasks.*": {"queue": "events"}}
# Celery's Django fixup closes the database connection before and after every task unless this is set;
# dead connections are dropped by loyalty.tasks instead.
CELERY_DB_REUSE_MAX = 1_000_000
EVENT_SWEEP_SECONDS = env.integer("EVENT_SWEEP_SECONDS", 2, minimum=1)
CELERY_BEAT_SCHEDULE = {
    "sweep-events": {
        "task": "loyalty.tasks.sweep",
        "schedule": EVENT_SWEEP_SECONDS,
        "options": {"expires": EVENT_SWEEP_SECONDS},
    },
    "locate-scans": {
        "task": "authcodes.tasks.locate_scans",
        "schedule": EVENT_SWEEP_SECONDS,
        "options": {"expires": EVENT_SWEEP_SECONDS},
    },
    "forget-sessions": {"task": "brands.tasks.forget_ended_sessions", "schedule": 86_400},
    "resume-jobs": {"task": "authcodes.tasks.resume_jobs", "schedule": 10, "options": {"expires": 10}},
    "roll-up-days": {"task": "authcodes.tasks.roll_up_closed_days", "schedule": 600, "options": {"expires": 600}},
}

# --- Events ----------------------------------------------------------------------------------------------------------
EVENT_HANDLERS = {
    "scan-auth": "authcodes.claims.on_scan_auth",
    "order-complete": "loyalty.handlers.on_order_complete",
    "log-user-profile-update": "loyalty.handlers.on_profile_update",
    "log-user-login": "loyalty.handlers.on_login",
    "reward-claimed": "loyalty.handlers.on_reward_claimed",
}
EVENT_SOURCE = env.text("EVENT_SOURCE", "loyalty.customer-app")
EVENT_ACCOUNT = env.text("EVENT_ACCOUNT", "000000000000")
EVENT_REGION = env.text("EVENT_REGION", "local")
EVENT_LEASE_SECONDS = env.integer("EVENT_LEASE_SECONDS", 30, minimum=1)
EVENT_RETRY_HOURS = env.integer("EVENT_RETRY_HOURS", 24, minimum=1)
EVENT_BATCH = env.integer("EVENT_BATCH", 20, minimum=1)
READY_EVENT_AGE_SECONDS = env.integer("READY_EVENT_AGE_SECONDS", 300, minimum=1)

# --- Who may call, and how often -------------------------------------------------------------------------------------
TRUSTED_PROXIES = env.integer("TRUSTED_PROXIES", 0)
RATE_LIMITS = {
    "campaign_event": env.rate("RATE_CAMPAIGN_EVENT", "100/minute"),
    "scan": env.rate("RATE_SCAN", "60/minute"),
    "login": env.rate("RATE_LOGIN", "10/minute"),
    "register": env.rate("RATE_REGISTER", "10/minute"),
    "read": env.rate("RATE_READ", "300/minute"),
    "ingest": env.rate("RATE_INGEST", "6000/minute"),
    "unknown_code": env.rate("RATE_UNKNOWN_CODE", "20/hour"),
}
UNKNOWN_CODE_LOCK_SECONDS = env.integer("UNKNOWN_CODE_LOCK_SECONDS", 900, minimum=1)

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
ACCESS_TOKEN_MINUTES = env.integer("ACCESS_TOKEN_MINUTES", 15, minimum=1)
REFRESH_TOKEN_DAYS = env.integer("REFRESH_TOKEN_DAYS", 30, minimum=1)
JWT_ISSUER = env.text("JWT_ISSUER", "loyalty")
JWT_AUDIENCE = env.text("JWT_AUDIENCE", "loyalty-api")
# Another issuer's tokens are accepted beside our own when its key set is named.
JWT_EXTERNAL_JWKS_URL = env.text("JWT_EXTERNAL_JWKS_URL")
JWT_EXTERNAL_ISSUER = env.text("JWT_EXTERNAL_ISSUER")
JWT_EXTERNAL_AUDIENCE = env.text("JWT_EXTERNAL_AUDIENCE")
JWT_EXTERNAL_ALGORITHM = env.text("JWT_EXTERNAL_ALGORITHM", "RS256")
if JWT_EXTERNAL_JWKS_URL and not (JWT_EXTERNAL_ISSUER and JWT_EXTERNAL_AUDIENCE):
    message = "JWT_EXTERNAL_ISSUER and JWT_EXTERNAL_AUDIENCE are missing: JWT_EXTERNAL_JWKS_URL needs both"
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

# --- Codes -----------------------------------------------------------------------------------------------------------
# Version -> secret; the highest version signs new batches, older ones keep verifying what is already printed.
CODE_TAG_SECRETS = env.pairs("CODE_TAG_SECRETS") or ({1: SECRET_KEY} if LOCAL else {})
BATCH_MAX_CODES = env.integer("BATCH_MAX_CODES", 10_000_000, minimum=1)
GENERATION_CHUNK = env.integer("GENERATION_CHUNK", 50_000, minimum=1)

# --- Jobs ------------------------------------------------------------------------------------------------------------
JOB_HANDLERS = {
    "generate": "authcodes.batches.run_generation",
    "check-import": "authcodes.imports.run_check",
    "commit-import": "authcodes.imports.run_commit",
    "export-scans": "authcodes.admin.exports.run",
    "export-unscanned": "authcodes.admin.exports.run",
    "export-affected": "authcodes.exports.run_affected",
}
JOB_FILE_DAYS = env.integer("JOB_FILE_DAYS", 7, minimum=1)

# --- HTTP ------------------------------------------------------------------------------------------------------------
DATA_UPLOAD_MAX_MEMORY_SIZE = env.integer("MAX_BODY_BYTES", 1_000_000, minimum=1_000)
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_AGE = 12 * 3600
X_FRAME_OPTIONS = "DENY"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["brands.authentication.BearerToken"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["config.api.Json"],
    "DEFAULT_PARSER_CLASSES": ["config.api.StrictJson"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "config.api.present_error",
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
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
MEDIA_ROOT = DATA_DIR / "media"
# Whom a customer may ask about a code that nobody's app or key brought.
SUPPORT_EMAIL = env.text("SUPPORT_EMAIL", "support@localhost")
CSRF_FAILURE_VIEW = "config.api.csrf_failure"
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"
UNFOLD = {
    "SITE_TITLE": "Loyalty portal",
    "SITE_HEADER": "Loyalty portal",
    "SHOW_HISTORY": True,
    "SIDEBAR": {
        "show_search": False,
        "command_search": True,
        "show_all_applications": False,
        "navigation": "brands.navigation.navigation",
    },
    "COMMAND": {"search_models": False, "show_history": False},
    "LOGIN": {"form": "brands.portal_login.LoginForm"},
    "DASHBOARD_CALLBACK": "authcodes.overview.dashboard",
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": env.text("LOG_LEVEL", "INFO")},
}
