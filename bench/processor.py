"""Processor time: what processes used, and how much of the machine others took meanwhile."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Others:
    """`share` of all processors' time that went to processes that are none of ours."""

    share: float = 0.0


@contextlib.contextmanager
def watched() -> Iterator[Others]:
    """Fills its `share` in at the end."""
    found = Others()
    before = _machine(), seconds(root())
    yield found
    (busy, total), ours = _machine(), seconds(root())
    spent = busy - before[0][0] - (ours - before[1])
    found.share = max(0.0, spent / max(total - before[0][1], 0.01))


def root() -> int:
    """The process that started everything of this benchmark: the one of the servers."""
    pid = os.getpid()
    while "servers.py" not in Path(f"/proc/{pid}/cmdline").read_text():
        pid = _parent(pid)
    return pid


def seconds(pid: int) -> float:
    """What a process and all below it have used so far, ended children included."""
    return sum(map(_own_seconds, family(pid)))


def family(pid: int) -> list[int]:
    members, below = [pid], children()
    for member in members:
        members += below.get(member, [])
    return members


def children() -> dict[int, list[int]]:
    """The processes of the machine by their parent."""
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended while we looked
            found.setdefault(_parent(int(entry.name)), []).append(int(entry.name))
    return found


def _parent(pid: int) -> int:
    return int(_fields(pid)[1])


def _own_seconds(pid: int) -> float:
    with contextlib.suppress(OSError):
        return sum(map(int, _fields(pid)[11:15])) / TICKS
    return 0.0


def _fields(pid: int) -> list[str]:
    # "pid (name) state parent ...": the name may hold anything
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _machine() -> tuple[float, float]:
    """Seconds that all processors together were busy, and that they had."""
    line = Path("/proc/stat").read_text().partition("\n")[0]
    user, nice, system, idle, waiting, *rest = [int(word) / TICKS for word in line.split()[1:9]]
    busy = user + nice + system + sum(rest)
    return busy, busy + idle + waiting
