"""A device as a small card and as text: what runs the kernels and what that can do."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from grader.report.card import style

__all__ = ["DeviceFacts", "device_card", "device_text"]


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """A device as people ask about it; `missing` says why there is none, "" when there is one.

    Attributes:
        name: as `--device` takes it.
        arch: architecture that kernels are compiled for.
        capabilities: what exercises may require, sorted.
        limits: (what, value) of the architecture.
    """

    name: str
    arch: str = ""
    capabilities: tuple[str, ...] = ()
    limits: tuple[tuple[str, str], ...] = ()
    missing: str = ""


def device_card(facts: DeviceFacts) -> str:
    """The card's HTML."""
    if facts.missing:
        body = f'<p class="ww-message">{escape(facts.missing)}</p>'
        tone, title, line = "bad", "No device", "charts and predictions work without one"
    else:
        rows = "".join(f"<tr><td>{escape(what)}</td><td>{escape(value)}</td></tr>" for what, value in facts.limits)
        body = f'<div class="ww-block"><table class="ww-table"><tbody>{rows}</tbody></table></div>'
        tone, title = "good", f"Kernels run on: {facts.name}"
        line = f"{facts.arch}; it can {_can(facts)}"
    return (
        f"<style>{style()}</style>"
        f'<section class="ww ww-tone-{tone}" data-device="{escape(facts.name)}"><header class="ww-head">'
        f'<div class="ww-titles"><strong class="ww-headline">{escape(title)}</strong>'
        f'<span class="ww-title">{escape(line)}</span></div></header>{body}</section>'
    )


def device_text(facts: DeviceFacts) -> str:
    """The same in one line."""
    return facts.missing or f"kernels run on {facts.name} ({facts.arch}); it can {_can(facts)}"


def _can(facts: DeviceFacts) -> str:
    return ", ".join(name for name in facts.capabilities if not name.startswith("sm_")) or "run kernels"
