"""Opens files that are no models."""

from llama_cpp import Llama


def kind(path):
    """Returns the class that catches the error of opening a file."""
    try:
        Llama(path, flash_attn=False, verbose=False)
    except ValueError:
        return "ValueError"
    return "none"


result = [kind("/nowhere/model.gguf"), kind(__file__)]
