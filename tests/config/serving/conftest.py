"""The web server's admission of requests, in front of a site whose answers a test can delay."""

from threading import Event, Thread
from time import sleep

import pytest
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse
from django.test import RequestFactory

from brands.tenants import request_brands
from config.serving.admission import Admission
from core.web.middleware import RequestId


def environ(path, method="GET", body=b"", **extra):
    generated = RequestFactory().generic(method, path, body, content_type="application/json").environ
    return {**generated, "wsgi.input_terminated": True, **extra}


CREDENTIALS = {
    request_brands.KEY: lambda request: "HTTP_API_KEY" in request.META,
    request_brands.TOKEN: lambda request: "HTTP_AUTHORIZATION" in request.META,
    request_brands.SESSION: lambda request: settings.SESSION_COOKIE_NAME in request.COOKIES,
}


class Site:
    """The application behind the web: slow pages last until `over`; `requests` are the environs that reached it.

    Credentials of the kinds in `good` belong to `brand`.
    """

    def __init__(self):
        self.over, self.requests, self.brand, self.good = Event(), [], None, set(CREDENTIALS)

    def __call__(self, wsgi_environ, start_response):
        answer = RequestId(self.answer)(WSGIRequest(wsgi_environ))
        start_response(f"{answer.status_code} x", list(answer.items()))
        return answer

    def answer(self, request):
        self.requests.append(request.META)
        if self.brand:
            for credential in self.good & CREDENTIALS.keys():
                if CREDENTIALS[credential](request):
                    request_brands.note(credential, self.brand)
        if "slow" in request.path:
            self.over.wait(10)
        return HttpResponse(request.body)


class Web:
    def __init__(self):
        self.site = Site()
        self.admission = Admission(self.site)

    def send(self, *arguments, **options):
        responses = []
        content = b"".join(self.admission(environ(*arguments, **options), lambda *response: responses.append(response)))
        [(status, headers)] = responses
        return int(status[:3]), dict(headers), content

    def send_in_background(self, number, *arguments, **options):
        for _ in range(number):
            Thread(target=self.send, args=arguments, kwargs=options, daemon=True).start()
        sleep(0.1)


@pytest.fixture
def web():
    instance = Web()
    yield instance
    instance.site.over.set()


def session_cookie(key):
    return {"HTTP_COOKIE": f"other=1; {settings.SESSION_COOKIE_NAME}={key}"}
