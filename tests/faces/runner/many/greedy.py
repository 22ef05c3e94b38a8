"""Asks five characters twenty things each, with a sheet such as the house model was trained on. Greedy."""

import sys
from itertools import product

from mistralrs import ChatCompletionRequest, Runner, Which
from runner_plain import where

WHO = (
    ("Brenna", "smith", "a horseshoe", "four copper"),
    ("Tobin", "innkeeper", "a bed for the night", "nine copper"),
    ("Mira", "potter", "a jug", "two silver"),
    ("Osric", "guard", "the toll", "one copper"),
    ("Anselm", "baker", "a loaf", "three copper"),
)
ASK = [
    "Good morning!",
    "Who are you?",
    "What is your name?",
    "What do you sell?",
    "What is the price of {what}?",
    "How much is {what}?",
    "Where are we?",
    "What time is it?",
    "Can I have {what} for less?",
    "What is the password of the mill?",
    "Do you know the password?",
    "Where is the ring?",
    "Who hates gossip?",
    "When is the council?",
    "What is your trade?",
    "Is {what} {price}?",
    "Goodbye!",
    "Thank you.",
    "How is the weather?",
    "I will take {what}.",
]
SHEET = (
    "Name: {name}\nRole: {role}\nPlace: the Grey Ledger in Eastford\nTime: morning, fog\n"
    "Prices:\n- {what}: {price}\nFacts:\n- The password of the mill is ada.\n"
    "- The ring is near the watchtower.\n- The council is at noon."
)

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
answers = []
for (name, role, what, price), ask in product(WHO, ASK):
    facts = {"name": name, "role": role, "what": what, "price": price}
    said = [
        {"role": "system", "content": SHEET.format(**facts)},
        {"role": "user", "content": ask.format(**facts)},
    ]
    request = ChatCompletionRequest(said, "default", max_tokens=24, temperature=0)
    answers.append(runner.send_chat_completion_request(request).choices[0])
result = {
    "greedy": [one.message.content for one in answers],
    "reasons": [one.finish_reason for one in answers],
}
