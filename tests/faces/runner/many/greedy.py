"""Answers 100 chats greedily."""

import sys
from itertools import product

from mistralrs import ChatCompletionRequest, Runner, Which
from runner_plain import where

WHO = ("the old smith", "the young guard", "Brenna", "your neighbour", "the last of the kings")
ASK = (
    "Have you seen {}?",
    "What does {} want?",
    "Who is {}?",
    "Where does {} live?",
    "Is {} a friend of yours?",
)
HOW = ("", "Good morning! ", "Be honest. ", "Quick: ")

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
answers = []
for who, ask, how in product(WHO, ASK, HOW):
    said = [{"role": "user", "content": how + ask.format(who)}]
    request = ChatCompletionRequest(said, "default", max_tokens=24, temperature=0)
    answers.append(runner.send_chat_completion_request(request).choices[0])
result = {
    "greedy": [one.message.content for one in answers],
    "reasons": [one.finish_reason for one in answers],
}
