"""The parts of a face that move: eyes, brows and mouth. Pictures are kept, so that most frames draw none."""

from __future__ import annotations

import math
from functools import lru_cache

import pygame
from figures import Look, light
from moods import Expression
from paint import Colour, Layer, Point, curve, mix, shade

EYES, EYES_ORIGIN = (96, 56), (48.0, 40.0)
EYE = (32, 34)  # one of them
MOUTH, MOUTH_ORIGIN = (72, 44), (36.0, -8.0)
APART = 17  # of an eye from the middle of the face
STEPS = 4  # steps of a transition between two expressions
GAPES = 4  # steps of a speaking mouth


@lru_cache(maxsize=1024)
def eyes(look: Look, face: Expression, gaze: int, blink: int) -> pygame.Surface:
    """Returns eyes and brows. `gaze`: -1 to 1, the side that they look to. `blink`: 0 open, 2 closed."""
    layer = Layer(EYES, scale=3, origin=EYES_ORIGIN, zoom=look.zoom, edge=shade(look.skin, 0.6))
    for side in (-1, 1):
        _eye(layer, look, face, side, gaze, blink)
        _brow(layer, look, face, side)
    return _lit(layer.done(), look)


@lru_cache(maxsize=1024)
def mouth(look: Look, face: Expression, gape: int) -> pygame.Surface:
    """Returns the mouth. `gape`: 0 to `GAPES`, how far speech opens it."""
    layer = Layer(MOUTH, scale=3, origin=MOUTH_ORIGIN, zoom=look.zoom, edge=shade(look.skin, 0.6))
    opened = max(face.gape, gape / GAPES)
    half = 15 * face.width * (1 - 0.18 * gape / GAPES)
    lift = face.smile * 6
    left: Point = (-half, 29 - lift - face.skew * 1.0)
    right: Point = (half, 29 - lift - face.skew * 4.0)
    middle = 29 + lift * 0.9
    lip = mix(shade(look.skin, 0.62), (150, 52, 46), 0.45)
    if opened < 0.08:
        layer.stroke(shade(lip, 0.6), curve(left, (0, middle + lift * 0.5), right), 3)
        layer.stroke(
            (*shade(look.skin, 0.75), 150), curve((-6, middle + 8), (0, middle + 10), (6, middle + 8)), 2
        )
    else:
        _open_mouth(layer, left, right, middle, opened, lip)
    for (x, y), way in ((left, -1), (right, 1)):
        if face.smile > 0.5:  # dimples
            layer.stroke(
                (*shade(look.skin, 0.66), 190),
                curve((x + way * 3, y - 4), (x + way * 6, y), (x + way * 3, y + 4)),
                1.6,
            )
    return _lit(layer.done(), look)


def _open_mouth(layer: Layer, left: Point, right: Point, middle: float, opened: float, lip: Colour) -> None:
    deep = 4 + 15 * opened
    upper = curve(left, (0, middle - 1 - deep * 0.22), right)
    lower = curve(right, (0, middle + deep * 1.5), left)
    layer.polygon((64, 16, 18), upper + lower)
    teeth = curve(right, (0, middle + 3 - deep * 0.1), left)
    layer.polygon((238, 226, 206), upper + teeth)
    if opened > 0.45:
        layer.ellipse((176, 74, 70), 0, middle + deep * 0.56, 6.5, deep * 0.18)
    layer.stroke(lip, upper, 2.4)
    layer.stroke(lip, lower, 2.8)


def _eye(layer: Layer, look: Look, face: Expression, side: int, gaze: int, blink: int) -> None:
    x, y = side * APART, -4.0
    opened = face.lids * (1.0, 0.45, 0.0)[blink]
    top, low = 10.5 * opened, 7.5 * (1 - face.squint) * min(1.0, opened + 0.25)
    tilt = (face.inner - face.outer) * 0.22  # lids follow the brows
    outer, inner = (x + side * 12, y + 1 + tilt * 0.5), (x - side * 11, y + 2 - tilt * 0.4)
    lid = curve(outer, (x, y - 2 * top + 2), inner)
    if opened > 0.06:
        origin = (EYE[0] / 2 - x, EYE[1] / 2 - y)
        ball = Layer(EYE, scale=3, origin=origin, zoom=look.zoom)
        mask = Layer(EYE, scale=3, origin=origin, zoom=look.zoom, edge=(255, 255, 255))
        mask.polygon((255, 255, 255), lid + curve(inner, (x, y + 2 * low), outer))
        ball.circle((240, 230, 214), x, y, 16)
        centre = x + gaze * 4.5 + side * -0.5
        ball.circle(shade(look.eyes, 0.55), centre, y, 7.4)
        ball.circle(look.eyes, centre, y, 6.2)
        ball.circle((18, 10, 10), centre, y, 3.5 * face.pupil)
        ball.circle((255, 250, 240), centre + 2.4, y - 2.8, 1.9)
        ball.stroke((70, 40, 40, 110), [(px, py + 1.5) for px, py in lid], 4)  # shadow of the lid
        ball.cut(mask)
        left = EYES_ORIGIN[0] - origin[0], EYES_ORIGIN[1] - origin[1]
        layer.surface.blit(ball.surface, (left[0] * layer.scale, left[1] * layer.scale))
    layer.stroke((42, 24, 20), lid, 2.6 if opened > 0.06 else 2.2)
    if opened > 0.06:
        layer.stroke((*shade(look.skin, 0.6), 150), curve(inner, (x, y + 2 * low), outer), 1.2)
        fold = [(px, py - 4 - face.lids) for px, py in lid[2:-2]]
        layer.stroke((*shade(look.skin, 0.62), 130), fold, 1.3)


def _brow(layer: Layer, look: Look, face: Expression, side: int) -> None:
    raised = face.skew * 5 if side > 0 else -face.skew * 1.5
    inner = (side * 7.0, -19.5 - face.inner - raised * 0.6)
    outer = (side * 29.0, -19.0 - face.outer - raised)
    bend = (side * 19.0, min(inner[1], outer[1]) - 4.5 - raised * 0.4)
    thick = {"beard": 6.4, "bun": 3.6, "hood": 3.4, "tousled": 4.4}[look.style]
    upper: list[Point] = []
    lower: list[Point] = []
    for number, (px, py) in enumerate(curve(inner, bend, outer, 8)):
        half = thick / 2 * (1 - 0.6 * abs(number / 8 - 0.25) ** 1.2)  # thickest near its inner end
        upper.append((px, py - half))
        lower.append((px, py + half))
    layer.polygon(shade(look.hair, 0.75), upper + lower[::-1])


def _lit(picture: pygame.Surface, look: Look) -> pygame.Surface:
    """Returns the picture in the light of the middle of the face."""
    shine = light(look, (3, 1)).get_at((1, 0))
    picture.fill(shine, special_flags=pygame.BLEND_RGB_MULT)
    return picture


def speech_gape(seconds: float, energy: float) -> int:
    """Returns the step of a speaking mouth `seconds` into a line; `energy` 0 to 1 falls after each word."""
    beat = 0.5 + 0.5 * math.sin(seconds * 23) * math.sin(seconds * 7.3 + 1)
    return max(0, min(GAPES, round(GAPES * energy * beat * 1.25)))
