"""Answers 100 chats greedily."""

import sys
from itertools import product

from mistralrs import ChatCompletionRequest, Runner, Which
from runner_plain import where

WHO = ("The old smith", "A young guard", "Brenna", "My neighbour", "The last of the kings")
DID = ("waited for", "had never seen", "asked about", "was afraid of", "sold")
WHAT = ("a horse at the gate", "the bridge of Eastford", "three silver coins and a letter", "the storm")

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
answers = []
for who, did, what in product(WHO, DID, WHAT):
    said = [{"role": "user", "content": f"{who} {did} {what}."}]
    request = ChatCompletionRequest(said, "default", max_tokens=24, temperature=0)
    answers.append(runner.send_chat_completion_request(request).choices[0])
result = {
    "greedy": [one.message.content for one in answers],
    "reasons": [one.finish_reason for one in answers],
}
