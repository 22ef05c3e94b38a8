"""`errors`: the exceptions, and how they relate."""

from __future__ import annotations

import copy
import pickle

import pytest

import sotto


@pytest.mark.row("A-235")
def test_the_reference_name_is_the_same_class() -> None:
    assert sotto.AtelicoError is sotto.SottoError
    assert issubclass(sotto.SottoError, Exception)


@pytest.mark.row("A-236", "A-237")
@pytest.mark.parametrize("kind", [sotto.ModelLoadError, sotto.InferenceError])
def test_every_failure_is_a_sotto_error(kind: type[sotto.SottoError]) -> None:
    assert issubclass(kind, sotto.SottoError) and not issubclass(kind, ValueError)
    error = kind("it broke", -9)
    assert (str(error), error.status) == ("it broke", -9)


@pytest.mark.row("A-238")
def test_store_errors_are_sotto_errors() -> None:
    assert issubclass(sotto.StoreError, sotto.SottoError) and not issubclass(sotto.StoreError, ValueError)


@pytest.mark.row("A-239")
def test_bad_requests_are_value_errors_and_sotto_errors() -> None:
    assert issubclass(sotto.ArgumentError, ValueError) and issubclass(sotto.ArgumentError, sotto.SottoError)
    assert sotto.ArgumentError("n is 2", -2).status == -2 and sotto.ArgumentError("n is 2").status == -1


@pytest.mark.parametrize("kind", [sotto.SottoError, sotto.ModelLoadError, sotto.ArgumentError])
def test_errors_cross_processes(kind: type[sotto.SottoError]) -> None:
    for twin in (pickle.loads(pickle.dumps(kind("why", -4))), copy.copy(kind("why", -4))):
        assert (type(twin), str(twin), twin.status) == (kind, "why", -4)
