"""A PostgreSQL server of the tests' own: Debian's programs, a temporary folder, a socket and no network."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

PACKAGE_USER = "postgres"  # made by Debian's package; the server refuses to run as root
PATIENCE_SECONDS = 300  # beside whatever else the machine does; alone it takes half a second


def program(name: str) -> str:
    """The path of one of PostgreSQL's programs, which Debian keeps out of PATH."""
    found = shutil.which(name) or next(map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    assert found, f"{name} is missing: apt-get install postgresql, as .ci/run does"
    return found


@contextlib.contextmanager
def postgres_server() -> Iterator[str]:
    """The URL of a new, empty database; the server ends with the block."""
    folder = Path(tempfile.mkdtemp(prefix="warpwise-pg-"))
    owner: dict[str, object] = {}
    if os.getuid() == 0:
        user = pwd.getpwnam(PACKAGE_USER)
        os.chown(folder, user.pw_uid, user.pw_gid)
        owner = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    def run(*command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=PATIENCE_SECONDS, **owner)
        assert done.returncode == 0, done.stdout + done.stderr

    data = str(folder / "data")
    try:
        run(program("initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        patient = ("-w", "-t", str(PATIENCE_SECONDS))
        run(program("pg_ctl"), *patient, "-D", data, "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql+psycopg://postgres@/postgres?host={folder}"
        finally:
            run(program("pg_ctl"), "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
