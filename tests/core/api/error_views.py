"""Addresses that raise what a test puts there and echo what they get, and calls of them."""

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


class Raises(APIView):
    """Answers with the error that the test has put here."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    error: Exception

    def get(self, *_):
        raise Raises.error


class Echo(APIView):
    authentication_classes = ()
    permission_classes = (AllowAny,)

    def post(self, request):
        return Response({"received": request.data})


class MembersOnly(APIView):
    def get(self, *_):
        return Response({})


def page(request):
    raise Raises.error


urlpatterns = [
    path("api/raises", Raises.as_view()),
    path("api/echo", Echo.as_view()),
    path("api/members", MembersOnly.as_view()),
    path("page", page),
]


def answer_to(error, address="/api/raises", **headers):
    Raises.error = error
    return Client(raise_request_exception=False).get(address, headers=headers)


def post(body, content_type="application/json", **headers):
    return Client(raise_request_exception=False).post("/api/echo", body, content_type=content_type, headers=headers)


def error_of(response):
    return response.status_code, response.json()["error"]
