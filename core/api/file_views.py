"""Views that answer with a file, of a type that no renderer knows."""

from typing import Any

from rest_framework.request import Request
from rest_framework.views import APIView


class FileView(APIView):
    """Its errors are JSON, whatever else is asked for: an image, a pass, a table."""

    def perform_content_negotiation(self, request: Request, force: bool = True) -> Any:  # noqa: ARG002, FBT001, FBT002
        return super().perform_content_negotiation(request, force=True)
