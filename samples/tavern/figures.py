"""Bodies and heads of the characters, without the parts of the face that move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pygame
from paint import Colour, Layer, Point, curve, gradient, mix, shade

HEAD = (150, 168)  # size of a head's picture in units; a face is 100 units high
HEAD_ORIGIN: Point = (75, 90)  # the middle of the face in it
BODY = (260, 250)
BODY_ORIGIN: Point = (130, 10)
SHADE: Colour = (140, 104, 98)  # light on the side away from the fire
WARM: Colour = (255, 226, 188)  # and on the side near it


@dataclass(frozen=True)
class Look:
    """What a character looks like. `lit_from`: -1 if the fire is to the left of the character, 1: right."""

    style: Literal["bun", "beard", "hood", "tousled"]
    skin: Colour
    hair: Colour
    cloth: Colour
    trim: Colour
    eyes: Colour
    lit_from: int
    zoom: float = 1.0


def light(look: Look, size: tuple[int, int]) -> pygame.Surface:
    """Returns the light that falls on a surface of the character, for `BLEND_RGB_MULT`."""
    ramp = [SHADE, mix(SHADE, WARM, 0.5), mix(SHADE, WARM, 0.85), WARM]
    return gradient(size, ramp if look.lit_from > 0 else ramp[::-1], across=True)


def paint_head(look: Look) -> pygame.Surface:
    """Returns the head, lit, without eyes, brows and mouth."""
    layer = Layer(HEAD, scale=3, origin=HEAD_ORIGIN, zoom=look.zoom, edge=shade(look.hair, 0.6))
    _back_hair(layer, look)
    _face(layer, look)
    _front_hair(layer, look)
    picture = layer.done()
    picture.blit(light(look, picture.get_size()), (0, 0), special_flags=pygame.BLEND_RGB_MULT)
    return picture


def paint_body(look: Look) -> pygame.Surface:
    """Returns neck, shoulders and arms, lit. Its origin is the middle of the face."""
    layer = Layer(BODY, scale=2, origin=BODY_ORIGIN, zoom=look.zoom, edge=shade(look.cloth, 0.5))
    broad = {"bun": 76, "beard": 96, "hood": 82, "tousled": 70}[look.style]
    cloth, dark = look.cloth, shade(look.cloth, 0.72)
    left = [*curve((-26, 56), (-broad + 4, 58), (-broad, 112)), (-broad - 14, 240)]
    right = [(-x, y) for x, y in reversed(left)]
    layer.polygon(cloth, left + right)
    for side in (-1, 1):  # arms
        outer = curve((side * (broad - 16), 74), (side * (broad + 10), 92), (side * (broad + 18), 240))
        inner = curve((side * (broad - 16), 240), (side * (broad - 18), 160), (side * (broad - 26), 108))
        layer.polygon(mix(cloth, dark, 0.35), outer + inner)
        layer.stroke(
            (*dark, 190),
            curve((side * (broad - 26), 108), (side * (broad - 20), 160), (side * (broad - 18), 238)),
            2,
        )
    neck = shade(look.skin, 0.82)
    layer.polygon(neck, [(-18, 34), (18, 34), (21, 66), (0, 82), (-21, 66)])
    _collar(layer, look)
    picture = layer.done()
    picture.blit(light(look, picture.get_size()), (0, 0), special_flags=pygame.BLEND_RGB_MULT)
    return picture


def _collar(layer: Layer, look: Look) -> None:
    trim, cloth = look.trim, look.cloth
    if look.style == "bun":  # blouse and apron
        layer.polygon(
            (236, 222, 196),
            [(-22, 60), (-52, 72), (-30, 128), (0, 100), (30, 128), (52, 72), (22, 60), (0, 84)],
        )
        layer.polygon(trim, [(-40, 124), (40, 124), (60, 240), (-60, 240)])
        layer.stroke(shade(trim, 0.8), [(-40, 124), (-48, 78)], 8)
        layer.stroke(shade(trim, 0.8), [(40, 124), (48, 78)], 8)
        layer.stroke((*shade(trim, 0.8), 200), [(-40, 127), (40, 127)], 3)
    elif look.style == "beard":  # leather apron over bare sleeves
        layer.polygon((214, 196, 164), [(-24, 58), (-40, 66), (0, 112), (40, 66), (24, 58), (0, 82)])
        layer.polygon(trim, [(-46, 106), (46, 106), (62, 240), (-62, 240)])
        for side in (-1, 1):
            layer.stroke(shade(trim, 0.85), [(side * 44, 108), (side * 56, 64)], 9)
            layer.circle((206, 164, 84), side * 42, 112, 4)
        layer.stroke((*shade(trim, 1.35), 160), [(-44, 109), (44, 109)], 2)
    elif look.style == "hood":  # cloak with a clasp
        layer.polygon(
            shade(cloth, 0.8),
            [(-30, 52), (-66, 66), (-36, 132), (0, 104), (36, 132), (66, 66), (30, 52), (0, 80)],
        )
        layer.polygon(trim, [(-20, 64), (0, 82), (20, 64), (8, 104), (-8, 104)])
        layer.circle((210, 168, 84), 0, 104, 8)
        layer.circle((116, 46, 74), 0, 104, 4.6)
    else:  # shirt, braces and a neckerchief
        layer.polygon(
            (224, 206, 168), [(-24, 60), (-58, 74), (-60, 240), (60, 240), (58, 74), (24, 60), (0, 82)]
        )
        for side in (-1, 1):
            layer.polygon(cloth, [(side * 24, 70), (side * 42, 70), (side * 46, 240), (side * 22, 240)])
        layer.polygon(trim, [(-26, 56), (0, 70), (26, 56), (30, 66), (0, 86), (-30, 66)])
        layer.polygon(shade(trim, 0.8), [(-4, 80), (6, 80), (14, 110), (0, 104), (-8, 112)])


def _back_hair(layer: Layer, look: Look) -> None:
    hair = shade(look.hair, 0.72)
    if look.style == "bun":
        layer.circle(look.hair, 0, -66, 22)
        layer.circle(shade(look.hair, 1.18), -5, -71, 12)
        layer.ellipse(hair, 0, -8, 49, 52)
    elif look.style == "beard":
        layer.ellipse(hair, 0, -8, 45, 46)
    elif look.style == "hood":
        layer.polygon(
            look.cloth,
            curve((0, -86), (-66, -82), (-62, 10))
            + curve((-62, 10), (-58, 56), (-24, 74))
            + curve((24, 74), (58, 56), (62, 10))
            + curve((62, 10), (66, -82), (0, -86)),
        )
        layer.ellipse(shade(look.cloth, 0.38), 0, -2, 50, 60)
        layer.ellipse(hair, 0, -4, 44, 50)
    else:
        for x, y in ((-40, -18), (-30, -48), (0, -58), (28, -50), (42, -20)):
            layer.circle(hair, x, y, 18)


def _face(layer: Layer, look: Look) -> None:
    skin = look.skin
    if look.style != "hood":
        for side in (-1, 1):
            layer.ellipse(shade(skin, 0.9), side * 42, 2, 8, 12)
            layer.ellipse(shade(skin, 0.7), side * 42, 3, 4, 7)
    layer.ellipse(skin, 0, -8, 41, 42)
    jaw = 30 if look.style in ("bun", "hood", "tousled") else 36
    sides = curve((-41, -6), (-40, 36), (-jaw * 0.55, 47)) + curve(
        (-jaw * 0.55, 47), (0, 54), (jaw * 0.55, 47)
    )
    layer.polygon(skin, sides + curve((jaw * 0.55, 47), (40, 36), (41, -6)))
    layer.ellipse((*shade(skin, 1.08), 130), 0, -20, 28, 20)
    for side in (-1, 1):
        layer.ellipse((*mix(skin, (226, 96, 72), 0.5), 80), side * 24, 17, 11, 8)
        layer.ellipse((*shade(skin, 0.8), 70), side * 17, -4, 13, 11)
    nose = 8.5 if look.style == "beard" else 6
    layer.stroke((*shade(skin, 0.72), 170), curve((-3, -4), (-6, 8), (-nose, 14)), 1.8)
    layer.ellipse(shade(skin, 0.93), 0, 14, nose, nose * 0.72)
    layer.ellipse((*shade(skin, 1.16), 170), -1.5, 12, nose * 0.45, nose * 0.32)
    for side in (-1, 1):
        layer.ellipse((*shade(skin, 0.55), 150), side * nose * 0.5, 17, 1.8, 1.2)
    if look.style == "tousled":  # freckles
        for x, y in ((-26, 10), (-20, 13), (-29, 15), (26, 10), (20, 13), (29, 15), (-23, 18), (23, 18)):
            layer.circle((*shade(skin, 0.7), 190), x, y, 1.4)


def _front_hair(layer: Layer, look: Look) -> None:
    hair, bright = look.hair, shade(look.hair, 1.25)
    if look.style == "bun":
        fringe = curve((-46, 4), (-50, -50), (0, -54)) + curve((0, -54), (50, -50), (46, 4))
        under = curve((46, 4), (40, -26), (8, -36)) + curve((8, -36), (-34, -30), (-46, 4))
        layer.polygon(hair, fringe + under)
        layer.stroke((*bright, 170), curve((-36, -26), (-26, -46), (4, -48)), 2.4)
        layer.stroke((*bright, 130), curve((14, -46), (32, -40), (40, -20)), 2)
        layer.stroke(look.trim, curve((-44, -34), (0, -66), (44, -34)), 6)
        for side in (-1, 1):
            layer.stroke(hair, curve((side * 44, -4), (side * 47, 18), (side * 40, 30)), 4)
            layer.circle((222, 178, 90), side * 43, 19, 2.8)
    elif look.style == "beard":
        crown = curve((-44, -2), (-48, -54), (0, -54)) + curve((0, -54), (48, -54), (44, -2))
        layer.polygon(
            hair, crown + curve((44, -2), (38, -30), (0, -34)) + curve((0, -34), (-38, -30), (-44, -2))
        )
        beard = (
            curve((-43, -2), (-48, 44), (-22, 66))
            + curve((-22, 66), (0, 80), (22, 66))
            + curve((22, 66), (48, 44), (43, -2))
        )
        inner = (
            curve((43, -2), (36, 16), (24, 18))
            + curve((24, 18), (0, 24), (-24, 18))
            + curve((-24, 18), (-36, 16), (-43, -2))
        )
        layer.polygon(hair, beard + inner)
        for x in range(-28, 29, 8):
            layer.stroke((*bright, 110), curve((x * 0.9, 40), (x, 54), (x * 0.7, 66 - abs(x) * 0.3)), 1.6)
        layer.stroke(bright, curve((-2, 19), (-14, 17), (-25, 27)), 5)
        layer.stroke(bright, curve((2, 19), (14, 17), (25, 27)), 5)
        layer.stroke((*shade(look.skin, 0.7), 200), [(28, -24), (33, -4)], 1.8)  # a scar
    elif look.style == "hood":
        locks = curve((-44, 8), (-42, -40), (6, -46)) + curve((6, -46), (-22, -28), (-34, 14))
        layer.polygon(hair, locks)
        layer.polygon(hair, curve((44, 10), (44, -36), (4, -46)) + curve((4, -46), (32, -32), (37, 16)))
        layer.stroke((*bright, 140), curve((-38, -8), (-34, -34), (-8, -42)), 2)
        rim = curve((-52, 16), (-58, -64), (0, -68)) + curve((0, -68), (58, -64), (52, 16))
        layer.stroke(shade(look.cloth, 1.25), rim, 6)
        layer.stroke((*look.trim, 220), [(x * 0.97, y + 3) for x, y in rim], 1.6)
        layer.circle((214, 172, 88), -42, 22, 3)
    else:
        for x, y, size in (
            (-38, -22, 14),
            (-28, -40, 17),
            (-8, -47, 18),
            (14, -46, 17),
            (32, -36, 15),
            (40, -18, 11),
        ):
            layer.circle(hair, x, y, size)
        for start, bend, end in (
            ((-36, -24), (-30, -8), (-22, -16)),
            ((-18, -36), (-8, -14), (2, -26)),
            ((6, -36), (20, -16), (28, -26)),
        ):
            layer.stroke(hair, curve(start, bend, end), 9)
        for x, y in ((-26, -46), (-4, -54), (18, -52)):
            layer.stroke((*bright, 170), curve((x - 8, y + 4), (x, y - 4), (x + 10, y + 4)), 2.4)
        layer.stroke(hair, curve((2, -60), (10, -78), (22, -72)), 5)
