"""Asks for sessions that are not there."""

import sys

from mistralrs import Runner, Which
from runner_plain import where

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
result = [
    runner.export_session("none"),
    runner.delete_session("none"),
    runner.list_session_ids(),
    runner.find_file("none"),
]
