"""Tokenizes texts."""

import sys

from mistralrs import Runner, Which
from runner_plain import where

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
texts = ["The smith said:", "", "  two  spaces", "<|im_end|>", "caf\u00e9 \u65e5\u672c"]
result = [[runner.tokenize_text(text, special, None) for special in (True, False)] for text in texts]
