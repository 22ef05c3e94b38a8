"""The window: draws again only the areas in which something has changed since the last frame."""

from __future__ import annotations

from typing import NamedTuple

import pygame
from paint import Point


class Drawn(NamedTuple):
    """A picture that a frame shows. Two that are equal look the same."""

    number: int  # id() of the picture, which this frame keeps alive
    x: int
    y: int
    flags: int
    version: int


class Canvas:
    """Shows pictures over a background that does not change."""

    def __init__(self, screen: pygame.Surface, background: pygame.Surface) -> None:
        self._screen, self._background = screen, background.convert()
        self._pictures: list[pygame.Surface] = []
        self._keys: list[Drawn] = []
        self._areas: list[pygame.Rect] = []
        self._before: dict[Drawn, pygame.Rect] = {}
        self._kept: list[pygame.Surface] = []  # pictures of the last frame, so that no id is used again
        screen.blit(self._background, (0, 0))
        pygame.display.flip()

    def begin(self) -> None:
        """Starts a frame."""
        self._kept = self._pictures
        self._pictures, self._keys, self._areas = [], [], []

    def draw(self, picture: pygame.Surface, place: Point, flags: int = 0, *, version: int = 0) -> None:
        """Adds a picture with its top left corner at `place`, above those before.

        A picture that was drawn upon since the last frame needs another `version`.
        """
        x, y = round(place[0]), round(place[1])
        self._pictures.append(picture)
        self._keys.append(Drawn(id(picture), x, y, flags, version))
        self._areas.append(pygame.Rect((x, y), picture.get_size()))

    def end(self) -> None:
        """Ends the frame: draws what changed, and shows it."""
        now = dict(zip(self._keys, self._areas, strict=True))
        changed = [area for key, area in now.items() if key not in self._before]
        changed += [area for key, area in self._before.items() if key not in now]
        areas = merge([area.clip(self._screen.get_rect()) for area in changed])
        for area in areas:
            self._restore(area)
        self._screen.set_clip(None)
        pygame.display.update(areas)
        self._before = now

    def _restore(self, area: pygame.Rect) -> None:
        """Draws everything inside an area."""
        screen = self._screen
        screen.set_clip(area)
        screen.blit(self._background, area, area)
        for number in area.collidelistall(self._areas):
            key = self._keys[number]
            screen.blit(self._pictures[number], (key.x, key.y), special_flags=key.flags)


def merge(areas: list[pygame.Rect]) -> list[pygame.Rect]:
    """Joins areas that overlap, if the joined area is hardly larger than both together."""
    out: list[pygame.Rect] = []
    for area in areas:
        if area.width and area.height:
            while (other := _neighbour(area, out)) is not None:
                area = area.union(out.pop(other))
            out.append(area)
    return out


def _neighbour(area: pygame.Rect, others: list[pygame.Rect]) -> int | None:
    for number in area.collidelistall(others):
        other, both = others[number], area.union(others[number])
        if both.width * both.height <= 1.1 * (area.width * area.height + other.width * other.height):
            return number
    return None
