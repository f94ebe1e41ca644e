"""References in a student bundle: shut until the instructor's key, or until a date.

With a key alone the text cannot be read by anybody who lacks it (AES-SIV, RFC 5297, by the `cryptography` package). With a
date the key has to lie in the bundle: that keeps a promise, but does not stop who takes the program apart.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

__all__ = ["LOCKED", "Locked", "WrongKey", "lock", "new_key", "open_reference"]

LOCKED = "assets/references.json"  # in a bundle
KEY_BITS = 512  # AES-256 in SIV mode takes two keys of 256


class WrongKey(ValueError):
    """No key of this bundle."""


class Locked(Exception):
    """The reference stays shut: what opens it."""


@dataclass(frozen=True, slots=True)
class _File:
    opens: date | None
    key: str
    references: Mapping[str, str]


def new_key() -> str:
    """A key as text."""
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    return base64.urlsafe_b64encode(AESSIV.generate_key(KEY_BITS)).decode()


def lock(references: Mapping[str, Mapping[str, str]], key: str, opens: date | None = None) -> str:
    """The file's text: each exercise's reference (variable → text) encrypted. Equal references and keys, equal bytes.

    Raises:
        WrongKey: `key` is none that `new_key` made.
    """
    cipher = _cipher(key)
    shut = {
        exercise_id: base64.b64encode(cipher.encrypt(_plain(parts), [exercise_id.encode()])).decode()
        for exercise_id, parts in sorted(references.items())
    }
    data = {"schema": 1, "opens": opens.isoformat() if opens else None, "key": key if opens else "", "references": shut}
    return json.dumps(data, indent=1, sort_keys=True) + "\n"


def open_reference(path: Path, exercise_id: str, key: str | None, today: date) -> dict[str, str]:
    """The reference of an exercise (variable → text).

    Raises:
        Locked: it takes a key, or a later day.
        WrongKey: the key opens nothing here.
        LookupError: the bundle has no reference for the exercise.
    """
    from cryptography.exceptions import InvalidTag

    file = _read(path)
    if exercise_id not in file.references:
        raise LookupError(f"this copy has no reference for {exercise_id}")
    if key is None:
        if file.opens is None:
            raise Locked("your instructor's key opens it")
        if today < file.opens:
            raise Locked(f"it opens on {file.opens.isoformat()}")
    try:
        plain = _cipher(key or file.key).decrypt(base64.b64decode(file.references[exercise_id]), [exercise_id.encode()])
    except InvalidTag:
        raise WrongKey("this key opens another bundle, not this one") from None
    return json.loads(plain)


def _read(path: Path) -> _File:
    data = json.loads(path.read_text(encoding="utf-8"))
    return _File(date.fromisoformat(data["opens"]) if data["opens"] else None, data["key"], data["references"])


def _plain(parts: Mapping[str, str]) -> bytes:
    return json.dumps(dict(parts), sort_keys=True).encode()


def _cipher(key: str):
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    try:
        return AESSIV(base64.urlsafe_b64decode(key.strip().encode()))
    except (ValueError, binascii.Error):
        raise WrongKey("this is no key: it is one line of letters that `release --bundle` wrote") from None
