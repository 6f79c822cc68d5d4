"""Processor time: what processes used, and how much of the machine other processes used at the same time."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class OtherProcesses:
    """`share`: the fraction of all processor time that other processes used."""

    share: float = 0.0


@contextlib.contextmanager
def watched() -> Iterator[OtherProcesses]:
    """Sets the `share` at the end."""
    result = OtherProcesses()
    before = _machine(), seconds(root())
    yield result
    (busy, total), ours = _machine(), seconds(root())
    spent = busy - before[0][0] - (ours - before[1])
    result.share = max(0.0, spent / max(total - before[0][1], 0.01))


def root() -> int:
    """The process that started everything in this benchmark: the servers' launcher."""
    pid = os.getpid()
    while "servers.py" not in Path(f"/proc/{pid}/cmdline").read_text():
        pid = _parent(pid)
    return pid


def seconds(pid: int) -> float:
    """Seconds used so far by a process and all its descendants, including ended children."""
    return sum(map(_own_seconds, family(pid)))


def family(pid: int) -> list[int]:
    members, below = [pid], children()
    for member in members:
        members += below.get(member, [])
    return members


def children() -> dict[int, list[int]]:
    """The processes of the machine by their parent."""
    result: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended during the loop
            result.setdefault(_parent(int(entry.name)), []).append(int(entry.name))
    return result


def _parent(pid: int) -> int:
    return int(_fields(pid)[1])


def _own_seconds(pid: int) -> float:
    with contextlib.suppress(OSError):
        return sum(map(int, _fields(pid)[11:15])) / TICKS
    return 0.0


def _fields(pid: int) -> list[str]:
    # "pid (name) state parent ...": the name may contain anything
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _machine() -> tuple[float, float]:
    """Seconds that all processors together were busy, and their total."""
    line = Path("/proc/stat").read_text().partition("\n")[0]
    user, nice, system, idle, waiting, *stolen = [int(word) / TICKS for word in line.split()[1:9]]
    busy = user + nice + system + sum(stolen)
    return busy, busy + idle + waiting
