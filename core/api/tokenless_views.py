"""Views that read no access token."""

from rest_framework.views import APIView


class TokenlessView(APIView):
    """A view that anyone may call, or whose method checks an `api-key` or another proof itself."""

    authentication_classes = ()
    permission_classes = ()
