"""Part of `Engine`: checks of texts with guardrails, those that need models included."""

from __future__ import annotations

from typing import Any, cast

from ._asking import Asks
from ._json import load
from ._typing import Unpack
from ._values import choice, wrong_type
from .data import performed
from .errors import ArgumentError, SottoError, Status
from .guard import STAGES, Guard, Guardrails, Stage, Verdict, config_text, read_verdict
from .terms import RequestOptions


class Checks(Asks):
    """Part of `Engine`: guardrails."""

    _guard: Guard | None

    def check(
        self,
        text: str,
        stage: Stage = "input",
        guardrails: Guardrails | None = None,
        **terms: Unpack[RequestOptions],
    ) -> Verdict:
        """Checks a text with guardrails of all types, and waits for the verdict.

        Checkers of the types "topics" and "judge" ask loaded models, which are scheduled like any request.

        Args:
            text: The text, at most 16 MiB of UTF-8; 1 MiB if the stage has topics or a judge.
            stage: The list of checkers: "input", "output" or "image_prompt".
            guardrails: A configuration as for `Guard`, for this check alone; None: the engine's.
            **terms: See `RequestOptions`.

        Returns:
            The verdict of the first checker that found something.

        Raises:
            ArgumentError: The text is too long, or the configuration is invalid.
            InferenceError: A checker's model is not loaded or failed, and `on_error` is "fail".
            SottoError: There are no guardrails.
        """
        body = check_body(self._guard, text, stage, guardrails)
        with performed():
            return read_verdict(self._ask("check", body, terms).finish().json)

    def guardrail_check_input(self, text: str) -> str:
        """Checks what a player wrote. Returns the verdict as JSON; see the guide on guardrails.

        Raises:
            SottoError: The engine has no guardrails.
            InferenceError: As of `check()`.
        """
        return self.check(text, "input").json

    def guardrail_check_output(self, text: str) -> str:
        """Checks what a model wrote, as `guardrail_check_input()` does."""
        return self.check(text, "output").json

    def guardrail_check_image_prompt(self, text: str) -> str:
        """Checks the prompt of an image, as `guardrail_check_input()` does."""
        return self.check(text, "image_prompt").json


def check_body(guard: Guard | None, text: str, stage: Stage, guardrails: Guardrails | None) -> dict[str, Any]:
    """Returns the body of a check. `guard`: the engine's, or None."""
    if not isinstance(text, str):
        raise wrong_type("text", text, "a str")
    choice("stage", stage, STAGES)
    body: dict[str, Any] = {"input": text, "stage": stage}
    if guardrails is not None:
        body["guardrails"] = _config(guardrails)
    elif guard is None:
        raise SottoError("guardrails are not configured: pass guardrails= to the engine", Status.STATE)
    return body


def _config(guardrails: Guardrails) -> dict[str, Any]:
    config = load(config_text(guardrails))
    if not isinstance(config, dict):
        raise ArgumentError("invalid guardrails: expected a JSON object")
    return cast("dict[str, Any]", config)
