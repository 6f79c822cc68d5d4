"""`manage.py receive_sqs`: the worker that receives a hub's events from Amazon SQS."""

import signal
import threading
from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from campaigns.intake import sqs


class Command(BaseCommand):
    help = "Takes events (EventBridge's envelopes) from the SQS queue SQS_QUEUE_URL until it is stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--until-empty", action="store_true", help="end when the queue gives nothing more")
        parser.add_argument("--wait", type=int, default=20, help="seconds to wait for messages at a time, 0 to 20")

    def handle(self, *_arguments: Any, **options: Any) -> None:
        if not settings.SQS_QUEUE_URL or not settings.SQS_BRANDS:
            message = "SQS_QUEUE_URL and SQS_BRANDS are missing: name the queue, and the brands it speaks for"
            raise CommandError(message)
        if find_spec("boto3") is None:
            message = "SQS_QUEUE_URL needs the Python package boto3: pip install -r requirements-optional.txt"
            raise CommandError(message)
        stop = threading.Event()
        if threading.current_thread() is threading.main_thread():
            for signum in (signal.SIGTERM, signal.SIGINT):
                signal.signal(signum, lambda *_: stop.set())
        taken = sqs.receive_all(
            sqs.client(),
            wait_seconds=options["wait"],
            until_empty=options["until_empty"],
            stopping=stop.is_set,
            pause=stop.wait,
        )
        self.stdout.write(f"{taken} messages received.")
