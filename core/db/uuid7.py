"""UUIDs that sort by creation time."""

import os
import time
import uuid


def time_ordered_id() -> uuid.UUID:
    """A version 7 UUID (RFC 9562): new scans go to the end of the index instead of all over it."""
    milliseconds = time.time_ns() // 1_000_000
    number = (milliseconds << 80) | int.from_bytes(os.urandom(10), "big")
    number = number & ~(0xF << 76) | (0x7 << 76)
    return uuid.UUID(int=number & ~(0x3 << 62) | (0x2 << 62))
