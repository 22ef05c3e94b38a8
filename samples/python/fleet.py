"""Why: a machine of the studio serves characters to players, and a deploy script needs no clean-up by hand.

Run it after `pip install 'sotto-runtime[fleet]'`, with a control plane and its tokens in the environment:

    sotto fleet serve &
    export INFERENCEKEY_BASE_URL=http://127.0.0.1:8090
    export INFERENCEKEY_SDK_TOKEN=$(sotto fleet keys create acme --kind sdk --new-project)
    export INFERENCEKEY_API_KEY=$(sotto fleet keys create acme)
    python fleet.py
"""

from sotto.fleet import Backend, DataClient, InferenceKeyError, ManagementClient, WorkloadSpec

LINES = ("Good evening. Who are you?", "What happened at the bridge?", "Then I will take the mill road.")
SHEET = "Name: Odo\nRole: watchman at the north gate\nManner: weary\nNews:\n- the bridge has fallen"


def talk(data: DataClient, slug: str) -> None:
    """Prints a talk with the character; the client sends what was said before."""
    endpoint = data.endpoint(slug)
    messages = [{"role": "system", "content": SHEET}]
    for line in LINES:
        messages.append({"role": "user", "content": line})
        print(f"> {line}")
        said = ""
        for chunk in endpoint.generate_text_stream(messages=messages, max_tokens=48, temperature=0.7):
            print(chunk.text, end="", flush=True)
            said += chunk.text
        print()
        messages.append({"role": "assistant", "content": said})


def main() -> None:
    """Provisions the workload, talks, and deletes it, also after an error or Ctrl-C."""
    mgmt = ManagementClient.from_env(project="acme")
    spec = WorkloadSpec(name="Odo", slug="odo", model="sotto/house", backend=Backend.LLAMACPP)
    try:
        ref = mgmt.ensure(spec)
        try:
            mgmt.wait_until_ready(ref.workload_slug, timeout=600)
            talk(DataClient.from_env(project="acme"), ref.workload_slug)
        finally:
            print("deleted" if mgmt.delete(ref.workload_slug) else "already gone")
    except InferenceKeyError as error:
        raise SystemExit(f"the fleet refused: {error}") from None


if __name__ == "__main__":
    main()
