"""`_call`: strings, structs and statuses at the boundary."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sotto
from sotto import _call
from sotto._lib import ffi, lib


@given(st.text())
def test_text_survives_the_way_there_and_back(value: str) -> None:
    made = _call.utf8("value", value)
    assert _call.text(made[0]) == value


def test_bytes_live_as_long_as_the_struct_that_points_at_them() -> None:
    desc = _call.struct("sotto_model_desc", id="x" * 100_000, path="ö" * 1000)
    gc.collect()
    assert (_call.text(desc.id), _call.text(desc.path)) == ("x" * 100_000, "ö" * 1000)
    assert desc.struct_size == ffi.sizeof("sotto_model_desc")


def test_lone_surrogate_is_refused_by_name() -> None:
    with pytest.raises(
        ValueError, match="invalid prompt: expected Unicode text; surrogates not allowed at 2"
    ):
        _call.utf8("prompt", "ab\ud800")


def test_failing_call_raises_the_librarys_own_words() -> None:
    with pytest.raises(ValueError, match="invalid level '99': expected a level from") as caught:
        _call.check(lib.sotto_log_set_level(99))
    assert isinstance(caught.value, sotto.ArgumentError) and caught.value.status == lib.SOTTO_ERROR_ARGUMENT


def test_status_that_is_no_error_comes_back() -> None:
    assert _call.check(lib.SOTTO_EMPTY) == lib.SOTTO_EMPTY


def test_unsupported_is_a_bad_request_only_before_work_began() -> None:
    refused = _call.failure(lib.SOTTO_ERROR_UNSUPPORTED, "no", sotto.InferenceError, refused=True)
    later = _call.failure(lib.SOTTO_ERROR_UNSUPPORTED, "no", sotto.InferenceError)
    assert isinstance(refused, ValueError) and isinstance(later, sotto.InferenceError)
