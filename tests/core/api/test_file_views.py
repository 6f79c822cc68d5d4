"""Errors of file views are JSON, even for callers that accept only the file's type."""

import pytest
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from core.api.file_views import FileView
from core.errors import NotFound


def answer_for_missing_file(view: type[APIView]) -> Response:
    """The answer of a view whose file does not exist."""

    class Missing(view):  # type: ignore[misc, valid-type] # a class for one test
        authentication_classes = permission_classes = ()

        def get(self, _request):
            raise NotFound

    answer = Missing.as_view()(APIRequestFactory().get("/", headers={"accept": "image/png"}))
    return answer.render()


@pytest.mark.django_db
def test_error_is_json_when_only_an_image_is_accepted():
    answer = answer_for_missing_file(FileView)

    assert (answer.status_code, answer["Content-Type"]) == (404, "application/json")


@pytest.mark.django_db
def test_control_plain_api_view_answers_not_acceptable():
    assert answer_for_missing_file(APIView).status_code == 406
