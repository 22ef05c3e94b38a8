"""Line editor: takes keys, returns complete lines. Edits with prompt_toolkit; does no I/O and never waits.

An application of prompt_toolkit would block the frame loop, so its parser, key bindings and buffer are driven
from here: `feed` handles what was typed and returns.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Sequence

from prompt_toolkit.application import Application
from prompt_toolkit.application.current import set_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import DummyInput
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.layout import BufferControl, Layout, Window
from prompt_toolkit.output import DummyOutput


class Editor:
    """Editor state: the current line, the cursor position and the history."""

    def __init__(self, words: Sequence[str], history: Sequence[str] = ()) -> None:
        self.words = words  # words that Tab completes at the start of the line
        self.left = False  # true after Ctrl-D in an empty line
        self._lines: list[str] = []  # completed by the keys that are handled now
        self._keys: list[KeyPress] = []
        self._parser = Vt100Parser(self._keys.append)
        self._history = InMemoryHistory(history)
        self._buffer = Buffer(multiline=False, history=self._history, accept_handler=self._accept)
        self._app: Application[None] = Application(
            layout=Layout(Window(BufferControl(self._buffer))),
            key_bindings=self._bindings(),
            input=DummyInput(),
            output=DummyOutput(),
        )
        self._app.timeoutlen = None  # type: ignore[assignment]  # no key is handled by a timer
        self._loop = asyncio.new_event_loop()  # only for the buffer's task that loads the history
        weakref.finalize(self, self._loop.close)
        self.feed("")

    @property
    def text(self) -> str:
        """The current line."""
        return self._buffer.text

    @property
    def cursor(self) -> int:
        """The cursor's position in the current line, in characters."""
        return self._buffer.cursor_position

    @property
    def history(self) -> list[str]:
        """The lines that were completed, oldest first, without immediate repetitions."""
        return self._history.get_strings()

    def feed(self, typed: str) -> list[str]:
        """Handles typed characters. Returns the lines that were completed with Enter."""
        self._parser.feed(typed)
        with set_app(self._app):
            self._loop.run_until_complete(self._handle_keys())
        lines, self._lines = self._lines, []
        return lines

    async def _handle_keys(self) -> None:
        await self._load_history()
        for key in self._keys:
            self._app.key_processor.feed(key)
            self._app.key_processor.process_keys()
            await self._load_history()
        self._keys.clear()

    async def _load_history(self) -> None:
        self._buffer.load_history_if_not_yet_loaded()
        await asyncio.sleep(0)  # runs the task that this started

    def _accept(self, buffer: Buffer) -> bool:
        # Pasted and quoted text may have line breaks and control characters.
        buffer.text = "".join(one if one.isprintable() else " " for one in buffer.text).strip()
        self._lines.append(buffer.text)
        return False  # do not keep the text

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        @bindings.add("tab")
        def complete(event: KeyPressEvent) -> None:
            typed = self._buffer.document.text_before_cursor
            found = [word for word in self.words if typed and word.casefold().startswith(typed.casefold())]
            if len(found) == 1:
                self._buffer.delete_before_cursor(len(typed))
                self._buffer.insert_text(found[0])

        @bindings.add("c-d", filter=Condition(lambda: not self._buffer.text))
        def leave(event: KeyPressEvent) -> None:
            self.left = True

        return bindings
