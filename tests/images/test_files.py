"""Headers of safetensors files, damaged at random: each is read as safetensors reads it, or refused."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

import sotto
from sotto.backends.diffusers.files import tensors_in

TENSORS = {
    "a": torch.zeros(3, 4),
    "b": torch.ones(5, dtype=torch.bfloat16),
    "c": torch.tensor(7),
    "d": torch.zeros(0, 2),
}


def is_whole(file: Path, data: bytes) -> bool:
    """Whether the backend accepts a file."""
    file.write_bytes(data)
    try:
        list(tensors_in(file))
    except sotto.ModelLoadError as error:
        assert str(error).startswith(f"'{file}' is damaged: ")
        return False
    return True


def test_a_whole_file_lists_types_and_numbers_of_values(tmp_path: Path) -> None:
    (tmp_path / "whole").write_bytes(save(TENSORS, {"format": "pt"}))
    assert sorted(tensors_in(tmp_path / "whole")) == [("BF16", 5), ("F32", 0), ("F32", 12), ("I64", 1)]


def test_no_file_passes_that_safetensors_refuses(tmp_path: Path) -> None:
    chance, whole = random.Random(13), save(TENSORS, {"format": "pt"})
    head = 8 + struct.unpack_from("<Q", whole)[0]
    accepted = 0
    for _ in range(1000):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(head)] = chance.randrange(256)
        if chance.random() < 0.2:
            del data[chance.randrange(len(data)) :]
        if is_whole(tmp_path / "damaged", bytes(data)):
            accepted += 1
            try:
                load(bytes(data))
            except SafetensorError as error:  # of two tensors with one name, this reader takes the last
                assert "uplicate" in str(error) or "utf" in str(error).lower(), error
    assert accepted < 500


@pytest.mark.parametrize(
    "header",
    [
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 8]}},
        {"a": {"dtype": "F32", "shape": [-1, -1], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [1 << 62, 1 << 62], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}},
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": ["0", "4"]}},
        {"a": {"dtype": "X9", "shape": [1], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": 1, "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [1]}},
        {"a": [0]},
        {"a": None},
        [],
        7,
        {},
    ],
)
def test_headers_that_do_not_describe_the_file_are_refused(tmp_path: Path, header: object) -> None:
    text = json.dumps(header).encode()
    assert not is_whole(tmp_path / "damaged", struct.pack("<Q", len(text)) + text + bytes(8))
