"""Why a call could not answer, which says who tries again."""

from __future__ import annotations

from datetime import timedelta

#: Seconds, or a `timedelta`.
Duration = float | timedelta


class OarlockError(Exception):
    """Why a call could not answer. Raise one of its subclasses: which one says who tries again.

    The text reaches people through the Ready condition, an event and the log; the host keeps 1024 bytes of it. Every other
    exception counts as a failure of the plugin: it is logged with its trace, and the host tries again with backoff.
    """

    def __init__(self, message: object) -> None:
        super().__init__(str(message))
        self.message = str(message)


class TransientError(OarlockError):
    """The world outside is at fault for now: tried again."""

    def __init__(self, message: object, *, delay: Duration | None = None) -> None:
        """`delay`: try again after this long, at most a day. None: the key's own exponential backoff."""
        super().__init__(message)
        self.delay_ms = milliseconds(delay)


class TerminalError(OarlockError):
    """The object is at fault: only a change of it, the next resync or a new version of the plugin tries again."""


class DeniedError(OarlockError):
    """Admission only: refuse the request. The user who sent it is told `message`."""

    def __init__(self, message: object, *, code: int = 403, reason: str = "Forbidden") -> None:
        """`code`: the HTTP status that the user's client sees. `reason`: UpperCamelCase."""
        super().__init__(message)
        self.code = code
        self.reason = reason


class ConversionError(OarlockError):
    """Conversion only: the object cannot be converted. The request of its user fails with `message`."""


def milliseconds(duration: Duration | None) -> int | None:
    """Rounded up, so that a short delay does not become none."""
    if duration is None:
        return None
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
    if seconds < 0:
        raise ValueError(f"a delay cannot be negative: {duration}")
    # Whole microseconds first: 0.1 s is 100 ms, not what is left of 0.1 in binary.
    return -(-round(seconds * 1_000_000) // 1000)
