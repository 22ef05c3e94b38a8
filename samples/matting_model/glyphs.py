"""Glyphs and photographs of openly licensed npm packages, pinned by hash, split by subject.

* `@lobehub/fluent-emoji-3d` (MIT): Microsoft's Fluent emoji as 3,391 rendered pictures with alpha.
* `@iconify-json/noto` (Apache-2.0): Google's Noto emoji, 3,729 drawings; for training only.
* `@pmndrs/assets` (CC0-1.0): 18 photographed panoramas, as backgrounds.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.random import Generator
from PIL import Image

PACKAGES = {
    "@lobehub/fluent-emoji-3d@1.1.0": (
        "Wlq2lVStTnr8BDpIJ0pEnTKO4LuDxxqTEhTvRtD1DLRF0me7ogeRQjKoehDHXuVJ2Qaecgl5wRBv60lUAG3h7g=="
    ),
    "@iconify-json/noto@1.2.9": (
        "DQiuXENbun41ch+XPSV55H9FaWKpHTyz46YIKtSaKYD4fIDDzL1tR6H4np/T38jfrTAeI3rcKF0mqHYeZVAuaw=="
    ),
    "@pmndrs/assets@1.7.0": (
        "zHmKNS+3Jvu9K3zJBQfYQKT9Pn9IQt8s0q/eJC3CXKpWpyg6IBa+ivN9NgDn+fDT2AVjUh2YRZ//GXUueuAdCg=="
    ),
}
FLUENT, NOTO, PHOTOS = PACKAGES
HELD_PHOTOS = ("forest", "lobby", "venice", "workshop")
SAME = {0x1F468: 0x1F9D1, 0x1F469: 0x1F9D1, 0x1F466: 0x1F9D2, 0x1F467: 0x1F9D2}  # man and woman: person
SIDE = 256  # pixels of a glyph


def package(name: str, folder: Path) -> Path:
    """Returns the file of the npm package in `folder`; downloads it there once, and checks its SHA-512.

    Raises:
        ValueError: The file's hash is not the pinned one.
        subprocess.CalledProcessError: `npm pack` failed.
    """
    file = folder / f"{re.sub('[^a-z0-9.]+', '-', name).strip('-')}.tgz"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as fresh:
            subprocess.run(
                ["npm", "pack", name, "--silent", "--pack-destination", fresh], check=True, timeout=300
            )
            next(Path(fresh).glob("*.tgz")).rename(file)
    found = base64.b64encode(hashlib.sha512(file.read_bytes()).digest()).decode()
    if found != PACKAGES[name]:
        raise ValueError(
            f"invalid package '{file}': expected sha512 {PACKAGES[name]}, got {found}; delete the file"
        )
    return file


def is_held(code: int) -> bool:
    """Returns whether glyphs of this first code point make test pictures: about one subject of seven."""
    return hashlib.sha256(str(SAME.get(code, code)).encode()).digest()[0] < 37


def fluent(folder: Path, *, held: bool) -> Iterator[bytes]:
    """Yields the rendered emoji of the trained or the held subjects: WebP files."""
    with tarfile.open(package(FLUENT, folder)) as archive:
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            match = re.fullmatch(r"package/assets/([0-9a-f]+)[0-9a-f-]*\.webp", member.name)
            if match and is_held(int(match[1], 16)) == held:
                yield archive.extractfile(member).read()


def noto(folder: Path) -> Iterator[Image.Image]:
    """Yields the drawn emoji of the trained subjects, RGBA. Needs `resvg-py`."""
    import resvg_py

    with tarfile.open(package(NOTO, folder)) as archive:
        icons, chars = (json.load(archive.extractfile(f"package/{name}.json")) for name in ("icons", "chars"))
    codes = {name: int(code.split("-")[0], 16) for code, name in sorted(chars.items(), reverse=True)}
    width, height = icons.get("width", 16), icons.get("height", 16)
    for name, icon in sorted(icons["icons"].items()):
        if name not in codes or is_held(codes[name]):
            continue
        frame = f'viewBox="0 0 {icon.get("width", width)} {icon.get("height", height)}"'
        names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
        svg = f'<svg {names} {frame} width="{SIDE}" height="{SIDE}">{icon["body"]}</svg>'
        yield Image.open(io.BytesIO(bytes(resvg_py.svg_to_bytes(svg_string=svg)))).convert("RGBA")


def photographs(folder: Path, *, held: bool) -> list[Image.Image]:
    """Returns panoramas of the trained or the held places: RGB, 512 x 256. Needs `OpenEXR`."""
    import OpenEXR

    found = []
    with tarfile.open(package(PHOTOS, folder)) as archive:
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            match = re.fullmatch(r"package/hdri/(\w+)\.exr\.js", member.name)
            if not match or (match[1] in HELD_PHOTOS) != held:
                continue
            text = archive.extractfile(member).read().decode()
            with tempfile.NamedTemporaryFile(suffix=".exr") as file:
                file.write(base64.b64decode(re.search(r"base64,([^'\"]+)", text)[1]))
                file.flush()
                with OpenEXR.File(file.name) as panorama:
                    light = panorama.channels()["RGB"].pixels.astype(np.float32)
            light = np.clip(np.nan_to_num(light, posinf=1e4), 0, 1e4)
            light *= 0.25 / max(float(np.median(light)), 1e-3)
            found.append(Image.fromarray((255 * (light / (1 + light)) ** (1 / 2.2)).astype(np.uint8), "RGB"))
    return found


def view(photos: list[Image.Image], rng: Generator, size: int) -> Image.Image:
    """Returns a random square part of one of the photographs, `size` pixels wide and high."""
    photo = photos[int(rng.integers(len(photos)))]
    side = int(rng.integers(110, 257))
    x, y = int(rng.integers(photo.width - side + 1)), int(rng.integers(photo.height - side + 1))
    return photo.crop((x, y, x + side, y + side)).resize((size, size), Image.Resampling.BICUBIC)


class HeldGlyphs:
    """A source of test foregrounds: rendered emoji of subjects that are never trained.

    Args:
        folder: Where the packages are kept.
    """

    def __init__(self, folder: Path) -> None:
        self.files = list(fluent(folder, held=True))

    def __call__(self, rng: Generator) -> Image.Image:
        """Returns a random glyph, RGBA."""
        file = self.files[int(rng.integers(len(self.files)))]
        return Image.open(io.BytesIO(file)).convert("RGBA")


def main() -> None:
    """Downloads the packages into a folder."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for name in PACKAGES:
        print(package(name, folder))


if __name__ == "__main__":
    main()
