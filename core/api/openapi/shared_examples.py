"""Values that the examples of several endpoints share: one fictitious brand and its data."""

REQUEST_ID = "0f5a3c0c7f5b4a3f9f3a2f4f8f5d2c11"
SCAN_ID = "01985e9c-6d3a-7c41-9f0e-0d9a5c1b7e42"
ACCESS = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ1c2VyX2lkIjo0MiwiYnJhbmRfaWQiOjd9.c2lnbmF0dXJl"
REFRESH = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzaWQiOiJiMmYzIn0.c2lnbmF0dXJl"
WHEN = "2026-03-14T09:26:53.589Z"
CODE = "7KQ2-M4XW-0TBH-9ZC0"
PLACE = {"latitude": 46.948, "longitude": 7.4474}
ORDER = {
    "orderId": "SO-2026-00017",
    "currency": "EUR",
    "subtotal": 249.9,
    "discount": 20,
    "total": 247.6,
    "items": [{"productId": 311, "sku": "ALP-311", "quantity": 1, "unitPrice": 249.9}],
}
SCANNED_PRODUCT = {"productId": 311, "authCode": "ALP0000004711", "title": "Alpine Jacket", "retailPrice": 249.9}
LINK_TOKEN = "eyJ1Ijo0MiwicCI6IjBhMWIyYzNkIn0:1wAbCd:8sT2hPqL0vYkE3mZ5rXnB7uJ1oWcQ9aF4dGiH6tKpVs"  # noqa: S105 - made up
LOG_IN = {"email": "ada@example.com", "password": "a long pass phrase", "brand_id": 7}
TOKENS = {
    "access": ACCESS,
    "refresh": REFRESH,
    "token_type": "Bearer",
    "expires_in": 900,
    "user_id": 42,
    "brand_id": 7,
}
GOOD = {"state": "good", "created_at": WHEN, "expires_at": WHEN, "used_at": None}
LAST_PAGE = {"limit": 50, "next": None, "has_more": False}
