"""URLs that raise the error of a test or echo the body that they receive, and helpers that call them."""

from django.test import Client
from django.urls import path
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.views import APIView

from core.api import exception_handler

handler400, handler403, handler404, handler500 = (
    exception_handler.handler400,
    exception_handler.handler403,
    exception_handler.handler404,
    exception_handler.handler500,
)
SECRET = "the table secret_things does not exist"


class RaisingView(APIView):
    """Raises the error that the test has set."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    error: Exception

    def get(self, *_):
        raise RaisingView.error


class EchoView(APIView):
    authentication_classes = ()
    permission_classes = (AllowAny,)

    def post(self, request):
        return Response({"received": request.data})


class MembersOnlyView(APIView):
    def get(self, *_):
        return Response({})


def raising_page(request):
    raise RaisingView.error


urlpatterns = [
    path("api/raises", RaisingView.as_view()),
    path("api/echo", EchoView.as_view()),
    path("api/members", MembersOnlyView.as_view()),
    path("page", raising_page),
]


def response_to(error, address="/api/raises", **headers):
    RaisingView.error = error
    return Client(raise_request_exception=False).get(address, headers=headers)


def post(body, content_type="application/json", **headers):
    return Client(raise_request_exception=False).post("/api/echo", body, content_type=content_type, headers=headers)


def error_of(response):
    return response.status_code, response.json()["error"]
