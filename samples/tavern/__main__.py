"""Opens the Kettle and Crow: four characters that speak while the window runs at 60 FPS.

Run these in the root of the repository:

    pip install '.[tavern]'
    python samples/tavern
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

UNSEEN_HINT = "run it in a desktop session, set DISPLAY, or set SDL_VIDEODRIVER=dummy to draw unseen"
UNSEEN = ("dummy", "offscreen")  # SDL's ways to draw where no window system is

# SDL would draw the window through OpenGL, which costs milliseconds where there is no graphics card. Both
# variables are read when pygame is imported.
os.environ.setdefault("SDL_FRAMEBUFFER_ACCELERATION", "0")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")


def main() -> int:
    """Runs the sample. Returns the exit status: 1 if it could not run, or no model could be loaded."""
    arguments = _parser().parse_args()
    try:
        import pygame

        if not getattr(pygame, "IS_CE", False):
            raise ImportError("the installed pygame is not pygame-ce")
        import sotto  # noqa: F401  # raises ImportError with the reason
    except ImportError as error:
        return _fail(f"{error}; run: pip install '.[tavern]' in the root of the repository")
    try:
        report = _play(arguments, pygame)
    except (pygame.error, OSError, ValueError) as error:
        return _fail(str(error))
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        _summarize(report)
    return 1 if report["failure"] else 0


def _play(arguments: argparse.Namespace, pygame: Any) -> dict[str, Any]:
    """Opens the window and runs the game. Returns its report."""
    from cast import Settings
    from game import Game, Options
    from room import SIZE

    try:
        screen = _open_window(pygame, SIZE)
        settings = Settings(arguments.model, arguments.mode, arguments.target_tps, arguments.budget)
        options = Options(
            arguments.seconds,
            arguments.screenshot,
            arguments.script,
            arguments.alone,
            not arguments.no_visitor,
            arguments.saves,
        )
        return Game(screen, settings, options).run()
    finally:
        pygame.quit()


def _open_window(pygame: Any, size: tuple[int, int]) -> Any:
    """Opens the window. Raises OSError if there is no display."""
    try:
        pygame.display.init()
        driver = pygame.display.get_driver()
        if driver in UNSEEN and os.environ.get("SDL_VIDEODRIVER") != driver:
            raise pygame.error("this session has no display")
        screen = pygame.display.set_mode(size)
    except pygame.error as error:
        raise OSError(f"no window can be opened: {error}; {UNSEEN_HINT}") from error
    pygame.display.set_caption("The Kettle and Crow, a sample of Sotto")
    pygame.font.init()
    pygame.key.set_repeat(400, 40)
    pygame.key.start_text_input()
    return screen


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tavern", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--model",
        default="sotto/house",
        help="a GGUF file, a Hugging Face id, sotto/tavern or sotto/house (sotto/house)",
    )
    parser.add_argument(
        "--mode", choices=("balance", "prioritize_graphics", "prioritize_compute"), default="balance"
    )
    parser.add_argument(
        "--target-tps", type=_amount, default=24.0, help="tokens per second each; 0: no pacing (24)"
    )
    parser.add_argument(
        "--budget", type=_megabytes, default=0, metavar="MB", help="memory budget; 0: no limit (0)"
    )
    parser.add_argument("--seconds", type=_amount, default=0.0, help="leave after this time; 0: never (0)")
    parser.add_argument("--screenshot", type=Path, metavar="FILE", help="save the last frame")
    parser.add_argument("--script", type=Path, metavar="FILE", help="do what a file says; see script.py")
    parser.add_argument(
        "--saves", type=Path, metavar="FOLDER", help="remember what the player says, and save games, there"
    )
    parser.add_argument("--no-visitor", action="store_true", help="only you ask")
    parser.add_argument("--alone", action="store_true", help="no engine: measures the game by itself")
    parser.add_argument("--json", action="store_true", help="print a JSON report at the end")
    return parser


def _amount(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"invalid value '{text}': expected 0 to 1e6")
    return value


def _megabytes(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 1 << 20:
        raise argparse.ArgumentTypeError(f"invalid value '{text}': expected 0 to 1048576")
    return value


def _summarize(report: dict[str, Any]) -> None:
    """Prints the figures of a run."""
    print(
        f"{report['frames']} frames at 60 FPS, {report['missed']} missed; in each the game used "
        f"{report['own_cpu_ms']:.2f} ms of processor time, and calls of Sotto {report['sotto_cpu_ms']:.3f} ms"
    )
    for line in report["lines"]:
        answer = line["answer"] or line["error"]
        print(f'{line["character"]}, asked "{line["question"]}" ({line["mood"] or "?"}): {answer}')
    if report["failure"]:
        _fail(report["failure"])


def _fail(reason: str) -> int:
    print(f"tavern: {reason}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
