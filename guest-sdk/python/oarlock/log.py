"""`logging` and `print` to the host's log, with the plugin's name and the reconcile's key.

In a component both are set up: loggers as usual, with `extra` for fields that a machine should find, and what is printed as lines of
level info (stderr: warn). The host keeps 4096 bytes of a line and a bounded number of lines per reconcile.
"""

from __future__ import annotations

import io
import logging
import re
import sys
from types import TracebackType

from oarlock import host

#: So many of the innermost calls are shown of a trace.
FRAMES = 12

#: In a component the folders that modules were in have numbers.
_FOLDER = re.compile(r"^/\d+/")

_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class HostHandler(logging.Handler):
    """Hands records to the host's log."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            message = record.getMessage()
        except Exception as error:  # A fault in its format ends no reconcile.
            message = f"{record.msg} {record.args!r} ({error})"
        if record.exc_info and record.exc_info[1] is not None:
            message = f"{message}\n{trace(record.exc_info[1])}"
        fields = [(name, str(value)) for name, value in vars(record).items() if name not in _OF_EVERY_RECORD]
        if record.name != "root":
            fields.append(("logger", record.name))
        line(_level(record.levelno), message, fields)


class LineWriter(io.TextIOBase):
    """What is printed, line by line, to the host's log."""

    def __init__(self, level: host.Level) -> None:
        self._level: host.Level = level
        self._rest = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for one in lines:
            self._line(one)
        return len(text)

    def flush(self) -> None:
        """Nothing: a line is whole when it ends."""

    def finish(self) -> None:
        """The end of a call ends a line, too."""
        rest, self._rest = self._rest, ""
        self._line(rest)

    def _line(self, text: str) -> None:
        if text:
            line(self._level, text, [])


def line(level: host.Level, message: str, fields: list[tuple[str, str]]) -> None:
    """One line. Where there is no host, while a component is built, to stderr."""
    if host.available():
        host.current().log(level, message, fields)
    elif sys.__stderr__ is not None:
        print(f"{level}: {message}", file=sys.__stderr__)


def trace(error: BaseException) -> str:
    """The error and its calls, innermost last. No line of source: a component has no files to read it from."""
    parts: list[str] = []
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        parts.append("\n".join([_spoken(cause), *_frames(cause.__traceback__)]))
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return "\ncaused by ".join(parts)


def _spoken(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__qualname__}: {text}" if text else type(error).__qualname__


def _frames(place: TracebackType | None) -> list[str]:
    # The way from the host to the reconciler says nothing.
    while place is not None and place.tb_next is not None and place.tb_frame.f_globals.get("__name__") == "oarlock.reconciler":
        place = place.tb_next
    frames: list[str] = []
    while place is not None:
        code = place.tb_frame.f_code
        file = _FOLDER.sub("", code.co_filename)
        frames.append(f"  {file}:{place.tb_lineno} in {code.co_qualname}")
        place = place.tb_next
    return frames[-FRAMES:]


def _level(levelno: int) -> host.Level:
    if levelno >= logging.ERROR:
        return "error"
    if levelno >= logging.WARNING:
        return "warn"
    return "info" if levelno >= logging.INFO else "debug"


def to_host() -> None:
    """Sends all records to the host, which decides by its own settings what is kept."""
    logger = logging.getLogger()
    logger.addHandler(HostHandler())
    logger.setLevel(logging.DEBUG)
