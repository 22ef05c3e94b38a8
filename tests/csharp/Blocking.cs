// An engine with a guard through the Unity runtime's class.
using Sotto;
using Sotto.Interop;

static partial class Program
{
    static void Blocking(string modules)
    {
        SottoEngine engine;
        using (var guard = new SottoGuard(Rules))
            engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: modules, guard: guard);
        using (engine)
        {
            engine.WaitDone(engine.LoadModel("npc", options: "{}", flags: SottoFlags.Private));
            var asked = engine.Submit(SottoOp.Chat, Ask("npc", "You swamp rat!"), flags: SottoFlags.Private);
            Throws(Native.SOTTO_ERROR_BLOCKED, "a line that is blocked", () => engine.WaitDone(asked));
            var events = Drain(engine, engine.Submit(SottoOp.Chat, Ask("npc", "well darn take secret-42 and go")));
            Expect(Said(events).StartsWith("well 夜 take") && !Said(events).Contains("secret"), $"an answer: {Said(events)}");
            var end = events.Find(e => e.Kind == SottoEventKind.ChoiceDone);
            Expect(end.Finish == SottoFinish.ContentFilter, $"an answer that is blocked ends so: {end.Finish}");
            events = Drain(engine, engine.Submit(SottoOp.Chat, Ask("npc", "good evening")));
            Expect(Said(events) == "good evening", "an innocent answer is whole");
        }
        var disposed = new SottoGuard("{}");
        disposed.Dispose();
        Throws(Native.SOTTO_ERROR_ARGUMENT, "a guard that is disposed", () => new SottoEngine(guard: disposed));
    }
}
