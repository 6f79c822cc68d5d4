"""Examples of scans, in requests and responses."""

from authcodes.api.scan_responses import INVALID_MESSAGE
from core.api.openapi.examples import answer_example, request_example
from core.api.openapi.shared_examples import PLACE, SCAN_ID, WHEN

PROOF = "1w1K0v:c2lnbmF0dXJlIG9mIHRoZSBzY2Fu"
PRODUCT = {"id": "311", "name": "Alpine Jacket", "sku": "ALP-311"}
GENUINE = {
    "success": True,
    "status": "success",
    "scan_id": SCAN_ID,
    "reason": "accepted",
    "points_status": "pending",
    "product": PRODUCT,
    "points_awarded": 50,
    "message": "Genuine product. Your points are on their way.",
    "scan_count": 1,
    "first_scan": True,
}
SEEN_BEFORE = {
    **GENUINE,
    "status": "warning",
    "reason": "limit_reached",
    "points_status": "not_eligible",
    "points_awarded": 0,
    "message": "This code has already been scanned.",
    "first_scan": False,
    "first_scan_date": WHEN,
    "first_scan_location": "Bern, Canton of Bern",
}
RECALL = {
    "id": "R-2026-03",
    "contact": "recall@example.com",
    "message": "Stop using this jacket and bring it back to the shop.",
}
BY_A_GUEST = {
    **GENUINE,
    "points_status": "guest",
    "points_awarded": 0,
    "points_available": 50,
    "message": "Genuine product. Log in to earn points.",
    "scan_token": PROOF,
}
STATE = {
    "success": True,
    "scan_id": SCAN_ID,
    "status": "success",
    "points_status": "awarded",
    "points_awarded": 50,
    "timestamp": WHEN,
    "location": "Bern, Canton of Bern",
}

VERIFY_PRODUCT = [
    request_example("With a place", PLACE),
    request_example("With the place's name", {**PLACE, "city": "Bern", "region": "Canton of Bern"}),
    request_example("Without a place", {}),
    answer_example("Genuine", GENUINE),
    answer_example("Scan limit reached", SEEN_BEFORE),
    answer_example("Recalled", {**SEEN_BEFORE, "reason": "recalled", "message": RECALL["message"], "recall": RECALL}),
]
SCAN_CODE = [
    request_example(
        "By a guest or customer",
        {
            "code": "ALP0000004711",
            "location": PLACE,
            "device": "Pixel 9",
            "app_version": "3.1",
        },
    ),
    request_example("A scanned address", {"code": "https://alpine.example.com/s/ALP0000004711"}),
    request_example("By a hub, for a customer", {"code": "ALP0000004711", "customer_id": "42"}),
    answer_example("Genuine", GENUINE),
    answer_example("Scan limit reached", SEEN_BEFORE),
    answer_example("Recalled", {**SEEN_BEFORE, "reason": "recalled", "message": RECALL["message"], "recall": RECALL}),
    answer_example("Genuine, scanned by a guest", BY_A_GUEST),
]
VALIDATE_CODE = [
    request_example("A code", {"code": "ALP0000004711"}),
    request_example("By a hub, for a customer", {"code": "ALP0000004711", "customer_id": "42"}),
    answer_example(
        "A valid code",
        {
            "valid": True,
            "product": PRODUCT,
            "points_awarded": 50,
            "scan_count": 0,
            "first_scan": True,
            "status": "success",
            "reason": "accepted",
            "points_status": "pending",
        },
    ),
    answer_example(
        "An invalid code",
        {
            "valid": False,
            "product": None,
            "points_awarded": 0,
            "scan_count": 0,
            "first_scan": False,
            "status": "error",
            "reason": None,
            "points_status": "not_eligible",
        },
    ),
]
READ_SCAN = [
    answer_example("Credited", STATE),
    answer_example("Recalled since", {**STATE, "recall": RECALL}),
]
ADOPT_SCAN = [
    request_example("A guest's scan", {"scan_token": PROOF}),
    answer_example("Points pending", {**STATE, "points_status": "pending", "points_awarded": 0}),
]
PLACE_SCAN = [
    request_example("By the customer", PLACE),
    request_example("By the guest", {**PLACE, "scan_token": PROOF}),
    answer_example("Saved", STATE),
]

# Members of an error besides or instead of the usual ones, in both of the spec's shapes.
INVALID = {
    "AUTH_CODE_INVALID": {
        "message": str(INVALID_MESSAGE),
        "status": "error",
        "support_email": "help@example.com",
        "scan_id": SCAN_ID,
    }
}
