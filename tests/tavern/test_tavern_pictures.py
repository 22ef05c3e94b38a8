"""What is drawn: areas that change, faces for each mood, bubbles, and the loops of fire and rain."""

from __future__ import annotations

import random
from itertools import combinations

import bubbles
import lights
import pygame
import pytest
import room
from canvas import Canvas, merge
from characters import SPOTS
from figures import paint_head
from moods import LISTENING, MOODS

import faces

BOUNDS = pygame.Rect(6, 8, 1268, 616)


def changed(one: pygame.Surface, other: pygame.Surface) -> int:
    """Number of bits that differ."""
    a, b = (int.from_bytes(pygame.image.tobytes(picture, "RGBA"), "big") for picture in (one, other))
    return bin(a ^ b).count("1")


def test_redrawing_changed_areas_equals_redrawing_everything() -> None:
    chance = random.Random(9)
    size = (200, 120)
    background = pygame.Surface(size, 0, 32)
    background.fill((60, 40, 30))
    pictures = []
    for _ in range(5):
        picture = pygame.Surface((chance.randrange(8, 50), chance.randrange(8, 50)), pygame.SRCALPHA)
        picture.fill(
            (chance.randrange(256), chance.randrange(256), chance.randrange(256), chance.randrange(90, 256))
        )
        pictures.append(picture)
    screen = pygame.display.get_surface()
    assert screen is not None
    small = screen.subsurface((0, 0, *size))
    canvas = Canvas(small, background)
    versions = [0] * 5
    for _ in range(200):
        canvas.begin()
        whole = background.copy()
        if chance.random() < 0.3:  # a picture that is drawn upon
            number = chance.randrange(5)
            pictures[number].fill((chance.randrange(256), 90, 30, 200))
            versions[number] += 1
        for number in chance.sample(range(5), chance.randrange(0, 6)):
            place = chance.choice(((0, 0), (30, 20), (60, 50), (-10, 90), (180, 100)))
            flags = chance.choice((0, pygame.BLEND_RGB_ADD))
            canvas.draw(pictures[number], place, flags, version=versions[number])
            whole.blit(pictures[number], place, special_flags=flags)
        canvas.end()
        assert pygame.image.tobytes(small, "RGB") == pygame.image.tobytes(whole, "RGB")


def test_areas_are_joined_only_where_that_is_cheap() -> None:
    one, inside, far = pygame.Rect(0, 0, 50, 50), pygame.Rect(10, 10, 20, 20), pygame.Rect(300, 300, 9, 9)
    assert merge([one, inside, far]) == [one, far]
    assert len(merge([pygame.Rect(0, 0, 100, 4), pygame.Rect(0, 0, 4, 100)])) == 2


def test_each_mood_has_a_face_of_its_own() -> None:
    for spot in SPOTS:
        shown = {mood: faces.eyes(spot.look, face, 0, 0) for mood, face in MOODS.items()}
        mouths = {mood: faces.mouth(spot.look, face, 0) for mood, face in MOODS.items()}
        for one, other in combinations(MOODS, 2):
            assert changed(shown[one], shown[other]) + changed(mouths[one], mouths[other]) > 1000, (
                one,
                other,
            )


def test_a_speaking_mouth_opens_and_a_blink_closes_the_eyes() -> None:
    look = SPOTS[0].look
    heights = [faces.mouth(look, MOODS["calm"], step).get_bounding_rect().height for step in range(5)]
    assert heights[1:] == sorted(heights[1:]) and heights[4] >= heights[0] + 5
    white = [
        pygame.mask.from_threshold(
            faces.eyes(look, MOODS["calm"], 0, step), (230, 190, 160), (40, 60, 70)
        ).count()
        for step in (0, 2)
    ]
    assert white[1] < white[0] / 2
    assert {faces.speech_gape(time / 60, 1.0) for time in range(120)} == {0, 1, 2, 3, 4}
    assert all(faces.speech_gape(time / 60, 0.0) == 0 for time in range(120))


def test_an_expression_turns_into_another_and_pictures_are_kept() -> None:
    calm, angry = MOODS["calm"], MOODS["angry"]
    assert calm.towards(angry, 1) is angry and calm.towards(angry, 0) == calm
    assert calm.towards(angry, 0.5).inner == pytest.approx((calm.inner + angry.inner) / 2)
    look = SPOTS[1].look
    assert faces.mouth(look, LISTENING, 0) is faces.mouth(look, LISTENING, 0)


def test_heads_are_whole() -> None:
    for spot in SPOTS:
        head = paint_head(spot.look)
        edge = pygame.mask.from_surface(head).get_bounding_rects()
        assert len(edge) == 1 and head.get_rect().contains(edge[0])
        assert edge[0].top > 0 and edge[0].left > 0 and edge[0].right < head.get_width()


def bubble() -> bubbles.Bubble:
    return bubbles.Bubble(bubbles.Paper(), (208, 250), 190, BOUNDS)


def test_a_bubble_fills_grows_and_fades() -> None:
    one = bubble()
    assert one.pictures(0.0) == []
    one.begin("How much is a bed for the night?")
    answer = "Why, of course! The price of a bed for the night is 9 copper. You will see for yourself."
    heights, shown = [], []
    for step in range(len(answer) + 1):
        one.write(answer[:step])
        pictures = one.pictures(step / 24)
        heights.append(pictures[0][0].get_height())
        shown.append(sum(pygame.mask.from_surface(row).count() for row, _ in pictures[1:]))
        for picture, place in pictures[1:]:  # the words stay on the paper
            paper = pictures[0][0].get_rect(topleft=pictures[0][1])
            assert paper.contains(picture.get_rect(topleft=(round(place[0]), round(place[1]))))
    assert heights == sorted(heights) and heights[-1] >= heights[5] + 40
    assert shown[-1] > shown[20] > shown[6]
    one.finish(10.0)
    ends = 10.0 + bubbles.LINGER + bubbles.READING * len(answer)
    assert one.pictures(ends - 0.01)[0][0].get_alpha() == 255
    assert 0 < (one.pictures(ends + bubbles.FADE / 2)[0][0].get_alpha() or 0) < 200
    assert one.pictures(ends + bubbles.FADE + 0.01) == [] and not one.open


@pytest.mark.parametrize("answer", ["W" * 400, "word " * 120, "🦊" * 90, "שלום עולם " * 30])
def test_a_bubble_stays_in_the_room(answer: str) -> None:
    for spot in SPOTS:
        one = bubbles.Bubble(bubbles.Paper(), (spot.face[0], 250), spot.bubble, BOUNDS)
        one.begin(answer)
        one.write(answer)
        for step in range(30):
            sheet, place = one.pictures(step / 60)[0]
        area = sheet.get_rect(topleft=(round(place[0]), round(place[1]))).inflate(
            -2 * bubbles.MARGIN, -2 * bubbles.MARGIN
        )
        assert BOUNDS.contains(area)


def test_fire_candles_and_rain_move_without_a_jump_at_the_end_of_the_loop() -> None:
    for loop in (lights.paint_fire(), lights.paint_flames(), lights.paint_rain((138, 172))):
        small = [pygame.transform.smoothscale(picture, (64, 64)) for picture in loop]
        steps = [changed_by(one, other) for one, other in zip(small, small[1:] + small[:1], strict=True)]
        assert len({pygame.image.tobytes(picture, "RGB") for picture in loop}) >= 12
        assert steps[-1] <= 1.5 * max(steps[:-1])


def changed_by(one: pygame.Surface, other: pygame.Surface) -> int:
    return sum(
        abs(a - b)
        for a, b in zip(pygame.image.tobytes(one, "RGB"), pygame.image.tobytes(other, "RGB"), strict=True)
    )


def test_the_room_is_lit_by_its_fire() -> None:
    picture = pygame.Surface(room.SIZE, 0, 32)
    room.paint(picture, [])
    near = pygame.transform.average_color(picture, pygame.Rect(440, 280, 40, 60))
    corner = pygame.transform.average_color(picture, pygame.Rect(1230, 60, 40, 60))
    pane = pygame.transform.average_color(picture, room.WINDOW)
    assert near[0] > 2 * near[2] and near[0] > 2 * corner[0]  # warm, and brighter than the corner
    assert pane[2] > pane[0]  # the night is blue
