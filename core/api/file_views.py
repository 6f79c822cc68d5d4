"""Views that return files of types that no DRF renderer supports."""

from typing import Any

from rest_framework.request import Request
from rest_framework.views import APIView


class FileView(APIView):
    """A view for images, passes and tables. Its errors are always JSON, whatever type the client accepts."""

    def perform_content_negotiation(self, request: Request, force: bool = True) -> Any:  # noqa: FBT001, FBT002
        return super().perform_content_negotiation(request, force=True)
