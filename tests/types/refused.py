"""Misspelt words that mypy must refuse, each on a line that ends with "# refused"; no other line is wrong."""

import sotto


def play(engine: sotto.Engine, mara: sotto.Session) -> None:
    engine.submit("chat", {}, priority="foreground")
    engine.submit("chta", {})  # refused
    engine.submit("chat", {}, priority="hihg")  # refused
    engine.submit("chat", {}, priorty="high")  # refused
    engine.set_scheduling_mode("balance")
    engine.set_scheduling_mode("balanced")  # refused
    engine.attach_gpu(sotto.gpu.Cuda(1), min_sharing="cgi")  # refused
    sotto.Engine(mode="prioritise_graphics")  # refused
    mara.submit("Hello", {"max_tokens": 8}, target_tps=8.0)
    mara.submit("Hello", target_tps="8")  # refused
    for event in engine.events():
        if event.kind == "text":
            print(event.text)
        if event.kind == "txet":  # refused
            print(event.text)
        print(event.txet)  # refused
        if event.kind == "choice_done" and event.finish == "lenght":  # refused
            print(event.finish)
    try:
        mara.say("Hello")
    except sotto.SottoError as error:
        if error.status == sotto.Status.BUDGET:
            print(error)
        if error.status == sotto.Status.BUDGTE:  # refused
            print(error)


async def wait(engine: sotto.aio.Engine) -> None:
    print(await engine.chat("Hello", priority="normal"))
    await engine.llm_chat_completion("{}", priority="urgent")  # refused
