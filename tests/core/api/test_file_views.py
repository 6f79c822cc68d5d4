"""A view of files answers errors as JSON, to callers that ask for the file's type alone."""

import pytest
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from core.api.file_views import FileView
from core.errors import NotFound


def failed(view: type[APIView]) -> Response:
    """What the view answers whose file is not there."""

    class Missing(view):  # type: ignore[misc, valid-type] # made for one test
        authentication_classes = permission_classes = ()

        def get(self, _request):
            raise NotFound

    answer = Missing.as_view()(APIRequestFactory().get("/", headers={"accept": "image/png"}))
    return answer.render()


@pytest.mark.django_db
def test_an_error_is_json_though_an_image_was_asked_for():
    answer = failed(FileView)

    assert (answer.status_code, answer["Content-Type"]) == (404, "application/json")


@pytest.mark.django_db
def test_control_another_view_has_nothing_of_that_type():
    assert failed(APIView).status_code == 406
