"""A DNS server on loopback over UDP. It answers TXT questions from a dict, and NXDOMAIN for other names."""

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
    """`records` has values by name; if `silent`, it does not answer; `questions` has the names of the queries."""

    def __init__(self) -> None:
        self.records: dict[str, list[str]] = {}
        self.silent = False
        self.questions: list[str] = []
        dns_fake = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                data, udp_socket = self.request
                if answer := dns_fake.answer(data):
                    udp_socket.sendto(answer, self.client_address)

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
