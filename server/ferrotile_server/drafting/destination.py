"""Where text is sent: an endpoint, a model and a key, which only the user's command line and environment name. Nothing
of a workspace is read here."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct

BASE_URL, MODEL, KEY = "FERROTILE_BASE_URL", "FERROTILE_MODEL", "FERROTILE_API_KEY"
OPENAI_BASE_URL, OPENAI_KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
"""What the `openai` SDK itself reads: a pair of their own, so that its key goes to no other endpoint."""
OPENAI_URL = "https://api.openai.com/v1"

OFF = (
    "no model is set, so nothing is sent anywhere. Name one by --base-url and --model, or by the environment's "
    f"{BASE_URL} and {MODEL}; the key, if the endpoint wants one, by {KEY}"
)


class NoDestination(Exception):
    """No endpoint is set, or one that cannot be used; the message says what to do."""


class Key:
    """A key that shows itself to nobody but the one who asks by name."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "Key(***)"

    @property
    def text(self) -> str:
        return self._text

    def out_of(self, text: str) -> str:
        """A text without the key: an endpoint may repeat it in a message."""
        return text.replace(self._text, "***") if self._text else text


class Destination(Struct, frozen=True):
    """An OpenAI-compatible endpoint (`.../v1`) and a model there. The key is empty where none is sent."""

    base_url: str
    model: str
    key: Key

    @property
    def host(self) -> str:
        """The endpoint as it is shown."""
        return urlsplit(self.base_url).netloc


def destination_of(base_url: str, model: str, environment: Mapping[str, str]) -> Destination:
    """The endpoint that the command line names, what it leaves out by the environment. Raises `NoDestination`: there
    is no default, so that nothing is ever sent by mistake."""
    url = base_url or environment.get(BASE_URL, "") or environment.get(OPENAI_BASE_URL, "")
    name = model or environment.get(MODEL, "")
    if not url or not name:
        raise NoDestination(OFF)
    _check(url)
    key = environment.get(KEY, "")
    if not key and _same(url, environment.get(OPENAI_BASE_URL) or OPENAI_URL):
        key = environment.get(OPENAI_KEY, "")
    if key.strip() != key or not key.isascii() or not key.isprintable():
        raise NoDestination("the key has characters that no key has; look for a space or a line break at its end")
    if key and urlsplit(url).scheme == "http" and not _is_local(url):
        raise NoDestination(f"{url} would get the key unencrypted: use https, or unset {KEY}")
    return Destination(url.rstrip("/"), name, Key(key))


def _check(url: str) -> None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise NoDestination("the base URL is no URL") from None
    if parts.username is not None or parts.password is not None:
        raise NoDestination(f"the base URL holds a password: take it out, and put the key in {KEY}")
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise NoDestination(f"the base URL must be like https://HOST/v1, not {url}")


def _same(a: str, b: str) -> bool:
    return a.rstrip("/") == b.rstrip("/")


def _is_local(url: str) -> bool:
    return urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")
