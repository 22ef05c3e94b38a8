"""Turns tokens into text."""

import sys

from mistralrs import Runner, Which
from runner_plain import where

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
tokens = [runner.tokenize_text(text, True, None) for text in ("The smith said:", "Hello <|im_end|>")]
result = [[runner.detokenize_text(one, skip) for skip in (True, False)] for one in tokens]
