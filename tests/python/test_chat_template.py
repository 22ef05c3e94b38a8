"""Chat templates with errors: in the option, in the file of a model, and while a conversation is rendered."""

from __future__ import annotations

from pathlib import Path

import pytest

import make_tiny
import sotto
from gguf_file import STRING

pytestmark = pytest.mark.real
HELLO = [{"role": "user", "content": "Hello"}]
SHORT = {"max_tokens": 4, "temperature": 0}


@pytest.fixture
def empty() -> sotto.Engine:
    return sotto.Engine(mode="prioritize_compute", threads=1)


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("{{ messages[0].content", "Expected }} before the end of the text; correct"),
        ("{% for m in messages %}\n{{ m.content }}\n{% endfour %}", "endfour"),
        ("hello\nthere\n  {{ ` }}", "line 3, column 6: unexpected character: `"),
        ("{{ ] }}", "Unexpected token: ]"),
    ],
)
def test_an_option_with_a_syntax_error_fails_the_load(empty: sotto.Engine, source: str, place: str) -> None:
    with empty, pytest.raises(sotto.SottoError, match=r"invalid options\.chat_template: ") as caught:
        empty.load_model("sotto/house", options={"chat_template": source})
    assert place in str(caught.value) and "\n" not in str(caught.value)
    assert caught.value.status == sotto.Status.ARGUMENT


def test_a_file_with_a_broken_template_still_completes_texts(empty: sotto.Engine, tmp_path: Path) -> None:
    file = make_tiny.transformer("llama", 1)
    file.values = [one for one in file.values if b"tokenizer.chat_template" not in one]
    file.value("tokenizer.chat_template", STRING, "a\n{{ ` }}")
    file.write(tmp_path / "broken.gguf")
    with empty:
        empty.load_model("broken", path=tmp_path / "broken.gguf")
        assert empty.complete("Hello", model="broken", **SHORT).usage.completion_tokens > 0
        with pytest.raises(sotto.SottoError, match=r"cannot be read: line 2, column .*; set options"):
            empty.chat(HELLO, model="broken", **SHORT)


def test_a_template_that_fails_while_it_renders_fails_the_request(empty: sotto.Engine) -> None:
    source = (
        "{% for m in messages %}"
        "{% if m.content == 'bad' %}{{ raise_exception('no bad words') }}{% endif %}"
        "{% if m.content == 'worse' %}{{ m.content.nothing() }}{% endif %}"
        "{{ m.content }}{% endfor %}"
    )
    with empty:
        empty.load_model("sotto/house", options={"chat_template": source})
        assert empty.chat(HELLO, **SHORT).usage.completion_tokens > 0
        for text, reason in (("bad", "no bad words"), ("worse", "nothing")):
            with pytest.raises(sotto.ArgumentError, match="the model's chat template refuses: ") as caught:
                empty.chat(text, **SHORT)
            assert reason in str(caught.value) and "line 1, column " in str(caught.value)
        assert empty.chat(HELLO, **SHORT).usage.completion_tokens > 0
