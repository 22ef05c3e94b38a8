"""Why: a tool written for llama-cpp-python runs on Sotto with one import changed. Here two share one engine.

Run it after `pip install sotto-runtime`; the model comes with the package.
"""

import sotto
from sotto.llama import Llama, LlamaGrammar, SamplingParams

MODEL = "sotto/house"
SHEETS = {
    "Brenna": "Name: Brenna\nRole: innkeeper\nManner: cheerful\nFacts:\n- The cellar is locked after dusk.",
    "Tobin": "Name: Tobin\nRole: smith\nManner: gruff\nFacts:\n- The bridge is broken.",
}
GREEDY = SamplingParams(temperature=0, repeat_penalty=1.0)


def ask(llm: Llama, sheet: str, question: str) -> str:
    """Asks a character and returns the answer."""
    messages = [{"role": "system", "content": sheet}, {"role": "user", "content": question}]
    answer = llm.create_chat_completion(messages, max_tokens=40, temperature=0)
    return str(answer["choices"][0]["message"]["content"])


def main() -> None:
    """Two characters on one engine; then a story that is taken back and told another way."""
    with sotto.Engine() as engine:
        people = {name: Llama(MODEL, engine=engine, sampling=GREEDY) for name in SHEETS}
        for name, llm in people.items():
            print(f"{name}: {ask(llm, SHEETS[name], 'Who are you?')}")
        weights = engine.memory()["uses"]["weights"]["used"] / 2**20
        print(f"[{len(people)} instances share {weights:.0f} MB of weights]")
        for llm in people.values():
            llm.close()

    with Llama(MODEL, n_seq_max=2, sampling=GREEDY) as llm:
        print(llm.generate("Hello", max_tokens=6, echo=True), end="")
        llm.kv_cache_seq_cp(0, 1)
        for turn in (" inn. The", " hat. I"):
            llm.kv_cache_seq_cp(1, 0)
            print(f"\n  {turn.strip()}", end="")
            for text in llm.generate_stream(turn, max_tokens=8, reset_kv_cache=False):
                print(text, end="", flush=True)
        yes = llm("Is the inn open?", grammar=LlamaGrammar.from_string('root ::= "yes" | "no"'))
        print(f"\nOpen: {yes['choices'][0]['text']}; {llm.perf()['n_eval']} tokens generated")


if __name__ == "__main__":
    main()
