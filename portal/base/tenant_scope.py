"""The user who looks at a page of the portal."""

from django.http import HttpRequest

from brands.models.people import User


def staff_user(request: HttpRequest) -> User:
    """Who looks at the portal; its views let nobody in who is not logged in."""
    assert isinstance(request.user, User)  # noqa: S101
    return request.user
