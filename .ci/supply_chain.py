"""What the image is made of: writes its SBOM, and asks whether any of it has a known vulnerability.

    python .ci/supply_chain.py SBOM_FILE

Fails for a vulnerability. Where the advisories cannot be reached it says that nothing was audited, and fails only with
AUDIT=required, which a release's build sets.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "locks" / "image.txt"
TIMEOUT_SECONDS = 300


def locked() -> set[str]:
    return {
        f"{name}=={version}" for name, version in re.findall(r"^([\w.-]+)==([^\s\\;]+)", LOCK.read_text(), re.MULTILINE)
    }


def write_sbom(path: Path) -> None:
    """CycloneDX 1.6, with the hashes of the lock; the same lock gives the same file."""
    subprocess.run(
        [tool("cyclonedx-py"), "requirements", LOCK, "--of", "JSON", "--output-reproducible", "-o", path], check=True
    )
    components = json.loads(path.read_text())["components"]
    if missing := locked() - {f"{each['name']}=={each['version']}" for each in components}:
        sys.exit(f"{path} lacks {', '.join(sorted(missing))}")
    print(f"{path}: {len(components)} components")


def audit() -> None:
    command = [
        tool("pip-audit"),
        "--require-hashes",
        "--disable-pip",
        "--progress-spinner=off",
        "-f",
        "json",
        "-r",
        LOCK,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        packages = []
    if found := [f"{each['name']} {each['version']}: {each['vulns']}" for each in packages if each.get("vulns")]:
        sys.exit("Known vulnerabilities:\n" + "\n".join(found))
    audited = [each for each in packages if "skip_reason" not in each]
    if packages and len(audited) == len(packages):
        print(f"{len(audited)} packages audited: no known vulnerability")
        return
    missing = len(packages) - len(audited)
    print(f"NOT AUDITED: {missing} of {len(packages)} packages, the advisories cannot be reached from here")
    if os.environ.get("AUDIT") == "required":
        sys.exit(done.stderr[-2000:])


def tool(name: str) -> str:
    return str(Path(sys.executable).parent / name)


if __name__ == "__main__":
    write_sbom(Path(sys.argv[1]))
    audit()
