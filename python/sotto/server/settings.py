"""`Settings` of a server: who may ask, how much, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, field

LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Settings:
    """Limits and permissions of a server. The defaults admit programs of this machine alone.

    Attributes:
        keys: API keys; a request has to carry one of them. Empty: no key is needed.
        hosts: Names that the header `Host` may have; "*" admits all. Protects from DNS rebinding.
        origins: Web origins, such as "https://tools.example", whose pages may read answers; "*" admits all.
        max_body_bytes: Longest body of a request; longer ones get status 413.
        max_requests: Requests that may run or wait at once; more get status 429 and `Retry-After`.
        body_timeout: Seconds in which the body of a request has to arrive (status 408).
        timeout: Seconds that an answer may take. An answer that has not begun by then gets status 503.
        write_timeout: Seconds for which a client may leave a full socket unread; then it is cut off.
        sleep_idle: Seconds without a request after which models are evicted; 0: never. The next one reloads.
        ping: Seconds without a token after which a stream sends a comment, so that proxies keep it open.
        metrics: Whether `/metrics` answers.
        slots: Whether `/slots` answers.
        props: Whether `POST /props` may change defaults.
        slot_dir: Folder of slots that clients save and restore by name; None: clients cannot.
        strict_models: Whether an unknown `model` is an error if one model alone is loaded.
    """

    keys: tuple[str, ...] = field(default=(), repr=False)
    hosts: tuple[str, ...] = LOCAL_HOSTS
    origins: tuple[str, ...] = ()
    max_body_bytes: int = 64 << 20
    max_requests: int = 512
    body_timeout: float = 30.0
    timeout: float = 600.0
    write_timeout: float = 30.0
    sleep_idle: float = 0.0
    ping: float = 15.0
    metrics: bool = True
    slots: bool = True
    props: bool = False
    slot_dir: str | None = None
    strict_models: bool = False

    def __post_init__(self) -> None:
        for name in ("max_body_bytes", "max_requests", "body_timeout", "timeout", "write_timeout", "ping"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 2**53:
                raise ValueError(f"invalid {name} '{value!r}': expected a positive number")
        if not 0 <= self.sleep_idle < 2**31:
            raise ValueError(f"invalid sleep_idle '{self.sleep_idle!r}': expected seconds from 0")
        for name in ("keys", "hosts", "origins"):
            value = getattr(self, name)
            if isinstance(value, str) or not all(isinstance(text, str) and text for text in value):
                raise ValueError(f"invalid {name}: expected a sequence of texts that are not empty")
