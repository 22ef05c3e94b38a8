"""Types of in-situ quantization, and those of llama.cpp that they stand for."""

from __future__ import annotations

from .._values import invalid, string
from .errors import RunnerError
from .refusals import refuse

_TYPES = {
    **{"Q4_0": "Q4_0", "Q4_1": "Q4_1", "Q5_0": "Q5_0", "Q5_1": "Q5_1", "Q8_0": "Q8_0"},
    **{"Q2K": "Q2_K", "Q3K": "Q3_K_M", "Q4K": "Q4_K_M", "Q5K": "Q5_K_M", "Q6K": "Q6_K"},
    **{"2": "Q2_K", "3": "Q3_K_M", "4": "Q4_K_M", "5": "Q5_K_M", "6": "Q6_K", "8": "Q8_0"},
}
_REFUSED = (
    "HQQ4",
    "HQQ8",
    "AFQ2",
    "AFQ3",
    "AFQ4",
    "AFQ6",
    "AFQ8",
    "FP8",
    "F8E4M3",
    "F8Q8",
    "MXFP4",
    "Q8_1",
    "Q8K",
)


def quant_of(name: str, value: object) -> str:
    """Returns the type of llama.cpp for one of in-situ quantization, such as "Q4_K_M" for "Q4K".

    Args:
        name: Name of the parameter, for errors.
        value: The type, in any case.

    Raises:
        RunnerError: The type is unknown, or llama.cpp does not have it.
    """
    wanted = string(name, value).upper()
    if wanted in _REFUSED:
        refuse(f"in_situ_quant='{wanted}'")
    if wanted not in _TYPES:
        raise RunnerError(invalid(name, value, f"one of {', '.join(_TYPES)}"))
    return _TYPES[wanted]
