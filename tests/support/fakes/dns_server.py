"""A DNS server on loopback, over UDP: it answers TXT questions from a dict, and others with no such name."""

import socketserver
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import dns.flags
import dns.message
import dns.rcode
import dns.rrset


class DnsServer:
    """`records` has values by name; `silent` answers nobody; `questions` is what was asked."""

    def __init__(self) -> None:
        self.records: dict[str, list[str]] = {}
        self.silent = False
        self.questions: list[str] = []
        served = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                data, line = self.request
                if answer := served.answer(data):
                    line.sendto(answer, self.client_address)

        self.server: Any = socketserver.ThreadingUDPServer(("127.0.0.1", 0), Handler)

    @property
    def port(self) -> int:
        port: int = self.server.server_address[1]
        return port

    def answer(self, data: bytes) -> bytes | None:
        query = dns.message.from_wire(data)
        name = query.question[0].name.to_text(omit_final_dot=True)
        self.questions.append(name)
        if self.silent:
            return None
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.AA
        values = self.records.get(name)
        if values is None:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        else:
            texts = [f'"{value}"' for value in values]
            answer.answer.append(dns.rrset.from_text(query.question[0].name, 60, "IN", "TXT", *texts))
        return answer.to_wire()


@contextmanager
def dns_server() -> Iterator[DnsServer]:
    running = DnsServer()
    thread = Thread(target=running.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield running
    finally:
        running.server.shutdown()
        running.server.server_close()
