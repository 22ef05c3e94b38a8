"""Signatures of webhooks, which carry the results of jobs."""

from __future__ import annotations

import hashlib
import hmac
import re
import time

HEADER = "InferenceKey-Signature"
_FORM = re.compile(r"t=(\d{1,12}),v1=([0-9a-f]{64})")


def sign(body: bytes, secret: str, at: float) -> str:
    """Returns the signature of a body: `t=<seconds>,v1=<HMAC-SHA256 of "<seconds>.<body>">`."""
    seconds = int(at)
    digest = hmac.new(secret.encode(), b"%d." % seconds + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"


def verify_webhook(
    body: bytes, signature: str, secret: str, *, tolerance: float = 300.0, now: float | None = None
) -> bool:
    """Returns True if a webhook comes from the control plane and is recent.

    A webhook can arrive more than once: remember `job_id` of the results that were processed.

    Args:
        body: The request's body, unparsed.
        signature: The header `InferenceKey-Signature`.
        secret: The project's webhook secret.
        tolerance: Seconds that the signature may be old, or in the future.
        now: Point in time in seconds since 1970; None: now.
    """
    found = _FORM.fullmatch(signature)
    if found is None:
        return False
    at = int(found[1])
    expected = sign(body, secret, at)
    recent = abs((time.time() if now is None else now) - at) <= tolerance
    return hmac.compare_digest(expected, signature) and recent
