"""Assigns threads to web requests: each class of requests has its own threads, and no brand may use all of one class.

The server's own threads only receive bodies and wait here. So pages that wait for the database do not block scans,
`/healthz` always has a thread, and there are as many database connections as threads here.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from io import BytesIO
from tempfile import SpooledTemporaryFile
from threading import Lock
from typing import Any

from django.conf import settings
from django.db import connections
from django.http import parse_cookie
from django.utils.translation import gettext_noop

from brands.tenants import request_brands
from brands.tenants.request_brands import KEY, SESSION, TOKEN
from config.serving.fair_threads import UNKNOWN_CALLERS, FairThreadPool, NoThreadError, ThreadLimits
from config.serving.receiving import BodyTooSlowError, Bounds, Receiving, TooManyBodiesError
from core.observability import metrics
from core.redis.rate_limits import site_of
from core.web.client_address import address_of
from core.web.middleware import TURNED_AWAY

Environ = dict[str, Any]
Application = Callable[..., Iterable[bytes]]

HEALTH, PROBES, FILES, API, EVENTS, LOGINS, PAGES = "health", "probes", "files", "api", "events", "logins", "pages"
# Where passwords are hashed, mostly of people who are not logged in.
LOGIN_PATHS = (
    "/api/v1/auth/token",
    "/api/v1/auth/register",
    "/api/v1/auth/password/",
    "/api/v1/auth/email/change/confirm",
    "/admin/login/",
    "/admin/password_change/",
    "/admin/password/new/",
    "/admin/invitation/",
    "/admin/second-factor/remove/",
    "/password/new/",
    "/register/confirm/",
    "/email/change/",
    "/page/session",
)
SHARED = {API, EVENTS, LOGINS, PAGES}  # shared between brands
NO_LOGIN = ("/api/v1/auth/token/refresh", "/api/v1/auth/token/revoke")
# Path prefixes and their class; the first match counts.
CLASSES = (
    ("/api/v1/brand/loyalty/campaign/event", EVENTS),
    ("/admin/", PAGES),
    ("/static/", FILES),
    ("/healthz", HEALTH),
    ("/readyz", PROBES),
    ("/metrics", PROBES),
)
SAFE = {"GET", "HEAD", "OPTIONS"}
MAX_UPLOAD_BYTES = 210_000_000  # for a portal form with a file; authcodes.imports.uploads accepts 200 MB
IMPORTS = "/api/v1/brand/imports/"  # portal.api.file_bodies accepts 50 MB
MAX_IMPORT_BYTES = 51_000_000
IN_MEMORY = 1_000_000  # bytes of a body; larger ones go to a file
MAX_REMEMBERED = 20_000  # credentials of each kind
ANONYMOUS = "nobody"  # visitors of the portal's login page


def most_bytes(path: str, name: str) -> int:
    """The maximum body size for a path of this class."""
    if path.startswith(IMPORTS):
        return MAX_IMPORT_BYTES
    return MAX_UPLOAD_BYTES if name == PAGES else settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0


def thread_limits() -> dict[str, ThreadLimits]:
    """The limits of each class. A brand may use all threads but one; for pages, which may take long, half of them.

    The classes together queue fewer requests than the server has threads (512).
    """

    def shared(threads: int, *, seconds: float, waiting: int) -> ThreadLimits:
        return ThreadLimits(threads, threads - 1, waiting=waiting, waiting_of_a_party=waiting * 2 // 3, seconds=seconds)

    return {
        HEALTH: ThreadLimits(1, 1),
        PROBES: ThreadLimits(1, 1, waiting=4),
        FILES: ThreadLimits(2, 2, waiting=48, waiting_of_a_party=48),
        API: shared(settings.WEB_API_THREADS, seconds=20, waiting=192),
        EVENTS: shared(settings.WEB_EVENT_THREADS, seconds=5, waiting=96),
        LOGINS: shared(settings.WEB_LOGIN_THREADS, seconds=10, waiting=32),
        PAGES: ThreadLimits(
            settings.WEB_PAGE_THREADS,
            settings.WEB_PAGE_THREADS // 2,
            waiting=32,
            waiting_of_a_party=16,
            of_unknown_callers=settings.WEB_PAGE_THREADS // 4,
        ),
    }


def class_of(environ: Environ) -> str:
    path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
    if method not in SAFE and path.startswith(LOGIN_PATHS) and not path.startswith(NO_LOGIN):
        return LOGINS
    if method == "DELETE" and path == "/api/v1/customer":  # checks the password
        return LOGINS
    return next((name for start, name in CLASSES if path.startswith(start)), API)


def credentials_of(environ: Environ, name: str) -> dict[str, bytes]:
    """Digests of the request's credentials, by kind, before they are verified. Digests, because they are secrets.

    They are read as the views read them, so that both see the same credential. The first one counts.
    """
    if name == PAGES:
        credentials = {SESSION: parse_cookie(environ.get("HTTP_COOKIE", "")).get(settings.SESSION_COOKIE_NAME, "")}
    else:
        token = environ.get("HTTP_AUTHORIZATION", "").split()[-1:]
        credentials = {KEY: environ.get("HTTP_API_KEY", ""), TOKEN: "".join(token)}
    return {kind: digest_of(text) for kind, text in credentials.items() if text}


def digest_of(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=12).digest()


def sender_of(environ: Environ) -> str:
    """The network address or, for IPv6, the site prefix: something that nobody gets many of for free."""
    address = address_of(environ)
    return site_of(address) or address


class Remembered:
    """The party of each credential that was verified. The least recently used are dropped."""

    def __init__(self, most: int = MAX_REMEMBERED) -> None:
        self.most = most
        self._lock = Lock()
        self._known: OrderedDict[bytes, str] = OrderedDict()

    def party_of(self, credential: bytes) -> str | None:
        return self._known.get(credential)

    def learn(self, credential: bytes, name: str) -> None:
        with self._lock:
            self._known[credential] = name
            self._known.move_to_end(credential)
            if len(self._known) > self.most:
                self._known.popitem(last=False)


class Answer:
    """The application's response, held until the server's thread passes it on."""

    def __init__(self) -> None:
        self.status, self.headers = "", [("", "")]
        self.chunks: Iterable[bytes] = ()

    def __call__(self, status: str, headers: list[tuple[str, str]], error: Any = None) -> None:
        self.status, self.headers = status, headers


class Streamed:
    """A streamed response, passed on by the server's own thread, which has a database connection only then."""

    def __init__(self, chunks: Any) -> None:
        self.chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.chunks)

    def close(self) -> None:
        self.chunks.close()
        connections.close_all()


class Admission:
    """WSGI middleware: reads the body, waits for a thread, and passes the response on."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.pools = {
            name: FairThreadPool(each, name, waited=partial(metrics.waited, name))
            for name, each in thread_limits().items()
        }
        self.receiving = Receiving(Bounds(seconds=settings.WEB_BODY_SECONDS))
        self.remembered = {kind: Remembered() for kind in (KEY, TOKEN, SESSION)}  # one flood spares others

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        name = class_of(environ)
        credentials = credentials_of(environ, name)
        party = self.party_of(environ, name, credentials)
        try:
            with self.with_body(environ, name, party) as whole:
                answer = self.pools[name].run(partial(self.answer, whole, credentials), party=party)
        except NoThreadError:
            metrics.turned_away(name, "busy")
            return self.reject(
                environ, start_response, gettext_noop("Too much is asked for at once. Try again in a moment.")
            )
        except TooManyBodiesError:
            metrics.turned_away(name, "bodies")
            return self.reject(
                environ, start_response, gettext_noop("Too many requests are still being sent. Try again.")
            )
        except BodyTooSlowError:
            metrics.turned_away(name, "slow")
            return self.reject(environ, start_response, gettext_noop("The body of the request did not come in time."))
        start_response(answer.status, answer.headers)
        return answer.chunks

    def party_of(self, environ: Environ, name: str, headers: dict[str, bytes]) -> str:
        """The brand of a credential that was verified before. Otherwise, and for all logins, the sender's address.

        Unknown sessions count as one party: a page may take long, and a caller could send a new session each time.
        """
        if name not in SHARED:
            return name
        known = [self.remembered[kind].party_of(credential) for kind, credential in headers.items()]
        if name == PAGES:
            return (known[0] or UNKNOWN_CALLERS) if known else ANONYMOUS
        return (known[0] if known and name != LOGINS else None) or sender_of(environ)

    def answer(self, environ: Environ, headers: dict[str, bytes]) -> Answer:
        """Run the application. Called in one of the class's threads."""
        result = Answer()
        with request_brands.learning() as party:
            chunks: Any = self.application(environ, result)
            if getattr(chunks, "streaming", False):
                result.chunks = Streamed(chunks)
            else:
                try:
                    result.chunks = [b"".join(chunks)]
                finally:
                    chunks.close()
        for kind, whose in party.names.items():
            if kind in headers:
                self.remembered[kind].learn(headers[kind], whose)
        return result

    @contextmanager
    def with_body(self, environ: Environ, name: str, party: str) -> Iterator[Environ]:
        """Yield the environ with the complete body, of known length, as Django and DRF expect it.

        Raises TooManyBodiesError, BodyTooSlowError. Reads at most one byte past the limit; the check of the length then
        rejects the body.
        """
        most = most_bytes(environ.get("PATH_INFO", ""), name)
        chunked = "HTTP_TRANSFER_ENCODING" in environ
        declared = environ.get("CONTENT_LENGTH", "")
        length = most + 1 if chunked else int(declared) if declared.isascii() and declared.isdigit() else 0
        if not length:
            yield environ
            return
        if not chunked and length > most:  # not read: the length alone leads to a rejection
            yield {**environ, "wsgi.input": BytesIO()}
            return
        with BytesIO() if length <= IN_MEMORY else SpooledTemporaryFile(IN_MEMORY) as body:
            with self.receiving.place(address=sender_of(environ), party=party):
                done = self.receiving.read(environ["wsgi.input"], body, length)
            body.seek(0)
            yield {**environ, "wsgi.input": body, "CONTENT_LENGTH": str(done) if chunked else declared}

    def reject(self, environ: Environ, start_response: Callable[..., Any], text: str) -> Iterable[bytes]:
        """Let the application answer with an error, which needs no database."""
        response: Any = self.application({**environ, TURNED_AWAY: text}, start_response)
        content = b"".join(response)
        response.close()
        return [content]
