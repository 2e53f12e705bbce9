"""HTTP requests: one request, one answer, whole bodies, only to granted origins.

    answer = http.get("http://api.example.com/things", params={"owner": cx.uid}, timeout=5)
    answer.raise_for_status()
    things = answer.json()

Redirects are not followed: an answer with one is an error, like every status outside 200 to 299.
"""

from __future__ import annotations

import json as _json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack
from urllib.parse import parse_qsl, urlencode

from oarlock import host
from oarlock.errors import Duration, OarlockError, TerminalError, TransientError, milliseconds


class RequestException(OarlockError):
    """What can go wrong with a request. Each is a `TransientError` or a `TerminalError` as well, so it need not be caught."""

    def __init__(self, message: object, **told: Any) -> None:
        super().__init__(message, **told)


class ConnectionError(RequestException, TransientError):
    """No connection, or it broke. The request may have had its effect."""


class Timeout(RequestException, TransientError):
    """No whole answer in time. The request may have had its effect."""


class TooLarge(RequestException, TransientError):
    """The answer's body is larger than `limit` bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the answer is larger than {limit} bytes")
        self.limit = limit


class Denied(RequestException, TerminalError):
    """The origin is not granted, or a dry run refuses the method."""


class InvalidRequest(RequestException, TerminalError):
    """The request makes no sense: its URL, method or a header."""


class JSONDecodeError(RequestException, TransientError, ValueError):
    """The body is no JSON. Transient: a proxy's error page, or half an answer, is not what the server meant to say."""


class HTTPError(RequestException):
    """The answer's status is not a success. Which subclass says who tries again."""

    response: Response


class TransientHTTPError(HTTPError, TransientError):
    """408, 425, 429 (with the server's `Retry-After`) and 5xx."""


class TerminalHTTPError(HTTPError, TerminalError):
    """All others."""


class Headers(Mapping[str, str]):
    """Names in any case. Several values of a name are one, joined with `, `."""

    def __init__(self, headers: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> None:
        self._values: dict[str, str] = {}
        for name, value in headers.items() if isinstance(headers, Mapping) else headers:
            name = name.lower()
            self._values[name] = f"{self._values[name]}, {value}" if name in self._values else value

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._values

    def __repr__(self) -> str:
        return f"Headers({self._values!r})"


@dataclass(frozen=True)
class Request:
    """A request as it is sent, and as handlers in tests see it."""

    method: str
    url: str
    headers: Headers = field(default_factory=Headers)
    body: bytes = b""
    timeout: Duration | None = None

    @property
    def path(self) -> str:
        """The URL's path, without origin and query."""
        rest = self.url.partition("://")[2] or self.url
        return "/" + rest.partition("?")[0].partition("#")[0].partition("/")[2]

    @property
    def params(self) -> dict[str, str]:
        """The query's parameters, decoded."""
        return dict(parse_qsl(self.url.partition("?")[2].partition("#")[0], keep_blank_values=True))

    @property
    def text(self) -> str:
        """The body as text; what is not UTF-8 is replaced."""
        return self.body.decode(errors="replace")

    def json(self) -> Any:
        """The body as JSON."""
        return _json.loads(self.body)


class Response:
    """An answer, whatever its status.

    Handlers in tests make one: `Response(200, json={"name": "a"})`.
    """

    def __init__(
        self,
        status_code: int,
        content: bytes | str = b"",
        headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        *,
        json: Any = None,
        url: str = "",
    ) -> None:
        if json is not None:
            content = _json.dumps(json)
            headers = {"content-type": "application/json", **dict(headers)}
        self.status_code = status_code
        self.content = content.encode() if isinstance(content, str) else content
        """The whole body."""
        self.headers = Headers(headers)
        self.url = url
        """What was asked for."""

    @property
    def ok(self) -> bool:
        """200 to 299."""
        return 200 <= self.status_code < 300

    @property
    def text(self) -> str:
        """The body as text; what is not UTF-8 is replaced."""
        return self.content.decode(errors="replace")

    def json(self) -> Any:
        """The body as JSON. Raises `JSONDecodeError`."""
        try:
            return _json.loads(self.content)
        except ValueError as error:
            raise JSONDecodeError(
                f"the answer (status {self.status_code}) is not the JSON that was expected: {error}"
            ) from None

    @property
    def retry_after(self) -> float | None:
        """`Retry-After` in seconds. The form with a date counts as absent."""
        told = self.headers.get("retry-after", "").strip()
        return float(told) if told.isascii() and told.isdigit() else None

    def raise_for_status(self) -> Response:
        """Itself when its status is a success. Else raises `HTTPError`, with the status and the beginning of the body."""
        if self.ok:
            return self
        message = f"status {self.status_code}: {self.text[:200]}"
        error: HTTPError
        if self.status_code in (408, 425, 429) or self.status_code >= 500:
            error = TransientHTTPError(message, delay=self.retry_after)
        else:
            error = TerminalHTTPError(message)
        error.response = self
        raise error

    def __repr__(self) -> str:
        return f"<Response [{self.status_code}]>"


class Options(TypedDict, total=False):
    """What a request may say besides its method and URL; see `request`."""

    params: Mapping[str, Any] | None
    headers: Mapping[str, str] | None
    json: Any
    data: bytes | str | Mapping[str, Any] | None
    timeout: Duration | None


def request(
    method: str,
    url: str,
    *,
    params: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    json: Any = None,
    data: bytes | str | Mapping[str, Any] | None = None,
    timeout: Duration | None = None,
) -> Response:
    """Sends a request and returns the answer, whatever its status.

    * `url` - absolute, http or https.
    * `params` - added to the URL's query, percent-encoded; None values are left out, lists are repeated.
    * `json` - a JSON value for the body, which is then said to be JSON.
    * `data` - the body; of a mapping, as a form.
    * `timeout` - for the whole exchange, in seconds; never more than what is left of the reconcile's deadline, which None is.

    Raises a `RequestException` when there is no answer.
    """
    sent = {name.lower(): value for name, value in (headers or {}).items()}
    body = b""
    if json is not None:
        body = _json.dumps(json).encode()
        sent.setdefault("content-type", "application/json")
    elif isinstance(data, Mapping):
        body = urlencode(data, doseq=True).encode()
        sent.setdefault("content-type", "application/x-www-form-urlencoded")
    elif data is not None:
        body = data.encode() if isinstance(data, str) else data
    query = urlencode({name: value for name, value in (params or {}).items() if value is not None}, doseq=True)
    if query:
        url += ("&" if "?" in url else "?") + query
    if timeout is not None and not milliseconds(timeout):
        raise ValueError("a timeout of 0 leaves no time for an answer; None is what is left of the deadline")
    return host.current().send(Request(method.upper(), url, Headers(sent), body, timeout))


def get(url: str, **options: Unpack[Options]) -> Response:
    """A GET request; options are those of `request`."""
    return request("GET", url, **options)


def post(url: str, **options: Unpack[Options]) -> Response:
    """A POST request; options are those of `request`."""
    return request("POST", url, **options)


def put(url: str, **options: Unpack[Options]) -> Response:
    """A PUT request; options are those of `request`."""
    return request("PUT", url, **options)


def patch(url: str, **options: Unpack[Options]) -> Response:
    """A PATCH request; options are those of `request`."""
    return request("PATCH", url, **options)


def delete(url: str, **options: Unpack[Options]) -> Response:
    """A DELETE request; options are those of `request`."""
    return request("DELETE", url, **options)
