// The Unity runtime, outside Unity: run.py compiles it together with the runtime's own sources.
//
//   Program.exe LAYOUT LIBRARIES RUNTIME: sizes and offsets, one a line; the folder of libsotto and its modules;
//   "jit", or "aot" for a runtime without a JIT compiler.
using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using Sotto;
using Sotto.Interop;

static partial class Program
{
    const string House = "sotto/house";
    static int passed, failed;

    static int Main(string[] args)
    {
        Layout(File.ReadAllLines(args[0]));
        var scripted = Path.Combine(args[1], "scripted");
        Run("conversation", () => Conversation(scripted));
        Run("private requests", () => PrivateRequests(scripted));
        Run("bad input", () => BadInput(scripted));
        Run("settings and frames", () => SettingsAndFrames(scripted));
        Run("terms", () => Terms(scripted));
        Run("a pace of its own", () => Pace(scripted));
        Run("figures", () => Figures(scripted));
        Run("a recording", () => Recording(scripted));
        Run("sessions", () => Sessions(scripted));
        Run("the budget", () => Budget(scripted));
        Run("adapters", () => Adapters(scripted));
        Run("data", () => Data(scripted));
        Run("slots", () => Slots(scripted));
        Run("model cards", () => ModelCards(scripted));
        Run("an index", Index);
        Run("a store", Store);
        Run("a guard", Guard);
        Run("an engine with a guard", () => Blocking(scripted));
        Run("judged texts", () => JudgedTexts(scripted));
        Run("save games", () => Saves(scripted));
        Run("memories", () => Memory(scripted));
        Run("a card", () => Gpu(scripted));
        Run("disposal", () => Disposal(scripted));
        Run("hooks", args[2] == "aot" ? (Action)NoJit : Hooks);
#if DOMAINS
        Run("exceptions are written down", Serialization);
        if (args[2] != "aot")
            Run("domains", () => Domains(scripted));
#endif
        if (Directory.GetFiles(args[1], "sotto_llama*").Length > 0)
            Run("the house model", HouseModel);
        Run("finalizer", Finalizer); // last: it leaves an engine behind
        Console.WriteLine($"{passed} passed, {failed} failed");
        return failed == 0 && passed > 0 ? 0 : 1;
    }

    static void Run(string what, Action test)
    {
        try
        {
            test();
        }
        catch (Exception e)
        {
            Expect(false, $"{what}: {e}");
        }
    }

    static void Expect(bool holds, string what)
    {
        passed += holds ? 1 : 0;
        failed += holds ? 0 : 1;
        if (!holds)
            Console.WriteLine("FAILED " + what);
    }

    static void Throws(int status, string what, Action call, int other = 0)
    {
        try
        {
            call();
            Expect(false, what + " throws nothing");
        }
        catch (SottoException e)
        {
            Expect((e.Status == status || e.Status == other) && e.Message.Length > 0, $"{what} throws {e.Status}, {e.Message}");
        }
    }

    static string Ask(string model, string text, string more = "") =>
        $@"{{""model"": ""{model}"", ""messages"": [{{""role"": ""user"", ""content"": ""{text}""}}]{more}}}";

    static void Layout(string[] lines)
    {
        foreach (var line in lines)
        {
            var words = line.Split(' '); // struct size, or struct offset field
            var type = typeof(Native).Assembly.GetType("Sotto.Interop." + words[0]);
            Expect(
                type != null && int.Parse(words[1]) == (words.Length == 2
                    ? Marshal.SizeOf(type) : (int)Marshal.OffsetOf(type, words[2])),
                line);
        }
        Expect(SottoEngine.Version == Native.SOTTO_VERSION, "the library's version is the bindings'");
    }

    // Takes every event of the engine's queue up to the end of `request`.
    static List<SottoEvent> Drain(SottoEngine engine, ulong request)
    {
        var taken = new List<SottoEvent>();
        for (var last = default(SottoEvent); !(last.IsDone && last.Request == request); taken.Add(last))
            while (!engine.TryNextEvent(out last))
                if (!engine.Wait(10000))
                    throw new TimeoutException($"request {request} does not end");
        return taken;
    }

    static string Said(IEnumerable<SottoEvent> events)
    {
        var text = new StringBuilder();
        foreach (var e in events)
            text.Append(e.Kind == SottoEventKind.Text ? e.Text : "");
        return text.ToString();
    }

    static void Conversation(string modules)
    {
        using (var engine = new SottoEngine(moduleDir: modules))
        {
            var loading = engine.LoadModel("büttel", options: "{}", user: 3);
            var events = Drain(engine, loading);
            var end = events[events.Count - 1];
            Expect(end.Status == Native.SOTTO_OK && end.User == 3, $"a model loads: {end.Error}");
            Expect(events.Exists(e => e.Kind == SottoEventKind.Progress), "loading tells its progress");
            Expect(engine.ModelsJson().Contains("büttel"), "it is listed");

            const string text = "wer bewacht das Tor? äöüß 夜の門番 🏰";
            var asked = engine.Submit(SottoOp.Chat, Ask("büttel", text), user: ulong.MaxValue);
            events = Drain(engine, asked);
            end = events[events.Count - 1];
            Expect(Said(events) == text, $"every character comes back: {Said(events)}");
            Expect(events.TrueForAll(e => e.Request == asked), "events name their request");
            Expect(events.TrueForAll(e => e.User == ulong.MaxValue), "events bring back what the host gave");
            Expect(events[0].Kind == SottoEventKind.Accepted, "first it is accepted");
            Expect(end.Status == Native.SOTTO_OK && end.Json.Contains("夜の門番"), "the response is whole");
            Expect(end.Tokens == 7, $"tokens are counted: {end.Tokens}");

            var chunks = engine.Submit(SottoOp.Chat, Ask("büttel", "halt"), flags: SottoFlags.Chunks);
            Expect(Drain(engine, chunks).Exists(e => e.Json.Contains("chat.completion.chunk")), "chunks");
            var plain = engine.Submit(SottoOp.Completion, @"{""model"": ""büttel"", ""prompt"": ""so be it""}");
            Expect(Said(Drain(engine, plain)) == "so be it", "plain text");

            events = Drain(engine, engine.UnloadModel("büttel"));
            Expect(events[events.Count - 1].Status == Native.SOTTO_OK, "a model unloads");
            Expect(!engine.ModelsJson().Contains("büttel"), "it is listed no more");
            Expect(!engine.TryNextEvent(out _) && !engine.Wait(0), "nothing is left to tell");
        }
    }

    static void PrivateRequests(string modules)
    {
        using (var engine = new SottoEngine(moduleDir: modules))
        {
            const string song = @"{""tokens"": [""la ""], ""loop"": true, ""token_ms"": 1}";
            engine.WaitDone(engine.LoadModel("bard", options: song, flags: SottoFlags.Private));
            var answer = engine.WaitDone(engine.Submit(
                SottoOp.Chat, Ask("bard", "sing", @", ""max_tokens"": 3"), flags: SottoFlags.Private));
            Expect(answer.Json.Contains("la la la"), $"a blocking answer: {answer.Json}");

            var endless = engine.Submit(SottoOp.Chat, Ask("bard", "sing"), flags: SottoFlags.Private);
            Expect(engine.WaitEvent(endless, 10000, out _), "an event comes");
            Expect(engine.Cancel(endless), "a live request is cancelled");
            Throws(Native.SOTTO_ERROR_CANCELLED, "a cancelled request", () => engine.WaitDone(endless));
            const int notFound = Native.SOTTO_ERROR_NOT_FOUND;
            Throws(notFound, "a request that is over", () => engine.WaitEvent(endless, 0, out _));
            Expect(!engine.Cancel(endless) && !engine.Drop(endless), "a stale name is harmless");

            var dropped = engine.Submit(SottoOp.Chat, Ask("bard", "sing"), flags: SottoFlags.Private);
            Expect(engine.Drop(dropped), "a private request is dropped");
            Expect(!engine.TryNextEvent(out _), "private events stay out of the queue");
            var unknown = engine.Submit(SottoOp.Chat, Ask("nobody", "hello"), flags: SottoFlags.Private);
            Throws(notFound, "an unknown model", () => engine.WaitDone(unknown));
        }
    }

    static void BadInput(string modules)
    {
        const int argument = Native.SOTTO_ERROR_ARGUMENT, unsupported = Native.SOTTO_ERROR_UNSUPPORTED;
        using (var engine = new SottoEngine(moduleDir: modules))
        {
            Throws(argument, "no operation", () => engine.Submit(0, "{}"));
            Throws(unsupported, "a later operation", () => engine.Submit((SottoOp)99, "{}"));
            Throws(unsupported, "later flags", () => engine.Submit(SottoOp.Chat, "{}", 0, (SottoFlags)64));
            Throws(argument, "a pace below zero", () => engine.Submit(SottoOp.Chat, "{}", targetTps: -1));
            Throws(argument, "no id", () => engine.LoadModel(""));
            Throws(argument, "null for an id", () => engine.UnloadModel(null));
            Throws(argument, "a pace that is no number", () => engine.SetTargetTps(float.NaN));
            Throws(argument, "an unknown mode", () => engine.SetMode((SottoMode)9));
            foreach (var body in new[] { "", "{", "[]", @"{""model"": 3}", null })
            {
                var events = Drain(engine, engine.Submit(SottoOp.Chat, body));
                Expect(events[events.Count - 1].Status == argument, $"the event of the body {body}");
            }
        }
        Throws(argument, "a device that is none", () => new SottoEngine(device: "toaster"));
        Throws(argument, "an engine's pace below zero", () => new SottoEngine(targetTps: -1));
    }

    static void SettingsAndFrames(string modules)
    {
        using (var engine = new SottoEngine(SottoMode.PrioritizeGraphics, 30, 1ul << 30, modules, "cpu"))
        {
            engine.SetMode(SottoMode.PrioritizeCompute);
            engine.SetTargetTps(0);
            engine.FrameBegin(busyCores: 1, periodNs: 16666667);
            engine.FrameEnd(gpuMs: 5, busyMs: 8);
            engine.FrameBegin();
            engine.FrameEnd();
            engine.SetVramBudget(1000);
            var ogre = engine.LoadModel("ogre", options: @"{""weights"": 5000}", flags: SottoFlags.Private);
            Throws(Native.SOTTO_ERROR_BUDGET, "a model over the budget", () => engine.WaitDone(ogre));
            var json = engine.DescribeJson();
            Expect(json.Contains("scripted"), $"it describes itself: {json}");
        }
    }

    // Who matters more is served first; of two that matter as much, the one with the earlier deadline.
    static void Terms(string modules)
    {
        const SottoEngineFlags flags = SottoEngineFlags.Deterministic | SottoEngineFlags.Gates;
        using (var engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: modules, flags: flags))
        {
            const string bard = @"{""tokens"": [""la "", ""la""], ""streams"": 1, ""token_ms"": 60}";
            engine.WaitDone(engine.LoadModel("bard", options: bard, flags: SottoFlags.Private));
            Func<SottoPriority, ulong, ulong> sing = (priority, deadline) =>
                engine.Submit(SottoOp.Chat, Ask("bard", "sing"), priority: priority, deadlineNs: deadline);
            sing(SottoPriority.Foreground, 0); // has the one stream
            var now = SottoEngine.NowNs;
            var asked = new[]
            {
                sing(SottoPriority.Background, now),
                sing(SottoPriority.Normal, now + 60000000000),
                sing(SottoPriority.Normal, now + 30000000000),
                sing(SottoPriority.Foreground, 0),
            };
            var ended = Drain(engine, asked[1]).FindAll(e => e.IsDone).ConvertAll(e => e.Request);
            ended = ended.FindAll(request => Array.IndexOf(asked, request) > 0); // the first has its own share
            Expect(ended.Count == 3 && ended[0] == asked[3] && ended[1] == asked[2] && ended[2] == asked[1],
                $"{string.Join(" ", asked)} end as {string.Join(" ", ended)}");
            Throws(Native.SOTTO_ERROR_ARGUMENT, "a priority that is none", () => sing((SottoPriority)7, 0));
        }
        Throws(Native.SOTTO_ERROR_UNSUPPORTED, "an engine's later flags",
            () => new SottoEngine(flags: (SottoEngineFlags)64));
        using (var engine = new SottoEngine(moduleDir: modules, maxRequests: 1))
        {
            const string song = @"{""tokens"": [""la ""], ""loop"": true, ""token_ms"": 1}";
            engine.WaitDone(engine.LoadModel("bard", options: song, flags: SottoFlags.Private));
            for (var i = 0; i < 500 && engine.Stats().Live != 0; ++i)
                Thread.Sleep(10); // its last event is told a moment before it is forgotten
            engine.Submit(SottoOp.Chat, Ask("bard", "sing"));
            Throws(Native.SOTTO_ERROR_BUSY, "one more than may be live", () => engine.Submit(SottoOp.Chat, "{}"));
        }
    }

    static void Pace(string modules)
    {
        using (var engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: modules))
        {
            const string song = @"{""tokens"": [""la ""], ""loop"": true}";
            engine.WaitDone(engine.LoadModel("bard", options: song, flags: SottoFlags.Private));
            var began = SottoEngine.NowNs;
            var slow = engine.Submit(SottoOp.Chat, Ask("bard", "sing", @", ""max_tokens"": 40"), targetTps: 4);
            Expect(engine.SetRequestTps(slow, 200), "a live request changes its pace");
            Drain(engine, slow);
            var seconds = (SottoEngine.NowNs - began) / 1e9;
            Expect(seconds > 0.15 && seconds < 5, $"40 tokens at 200 a second take {seconds} s");
            Expect(!engine.SetRequestTps(12345, 4), "a stale name is harmless");
            Throws(Native.SOTTO_ERROR_ARGUMENT, "a request's pace that is no number",
                () => engine.SetRequestTps(slow, float.NaN));
        }
    }

    static void Recording(string modules)
    {
        var path = Path.Combine(Path.GetTempPath(), $"sotto-büttel-{Guid.NewGuid()}.jsonl");
        using (var engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: modules, record: path))
        {
            engine.WaitDone(engine.LoadModel("bard", options: "{}", flags: SottoFlags.Private));
            engine.WaitDone(engine.Submit(SottoOp.Chat, Ask("bard", "sing"), flags: SottoFlags.Private));
        }
        var report = SottoEngine.Replay(path);
        Expect(report.Contains(@"""first_difference"":null") && report.Contains(@"""streams"":1"), report);
        File.Delete(path);
        Throws(Native.SOTTO_ERROR_NOT_FOUND, "a recording that is gone", () => SottoEngine.Replay(path));
    }

    static void Figures(string modules)
    {
        using (var engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: modules))
        {
            Expect(engine.Stats().Mode == SottoMode.PrioritizeCompute, "the mode is told");
            engine.WaitDone(engine.LoadModel("npc", options: @"{""weights"": 5000}", flags: SottoFlags.Private));
            engine.WaitDone(engine.Submit(SottoOp.Chat, Ask("npc", "one two"), flags: SottoFlags.Private));
            engine.FrameBegin(periodNs: 10000000);
            engine.FrameEnd(busyMs: 20);
            Drain(engine, engine.Submit(SottoOp.Chat, Ask("nobody", "hello")));
            var told = engine.Stats();
            for (var i = 0; i < 500 && !(told.CompletionTokens == 2 && told.Failed == 1 && told.Live == 0 && told.Frames == 1); ++i)
            {
                Thread.Sleep(10);
                told = engine.Stats();
            }
            Expect(told.CompletionTokens == 2 && told.PromptTokens + told.CachedPromptTokens >= 2, $"{told.CompletionTokens} tokens are counted");
            Expect(told.Finished >= 1 && told.Failed == 1 && told.Live == 0, $"{told.Finished} requests ended well");
            Expect(told.Frames == 1 && told.FramesMissed == 1 && Math.Abs(told.FrameP50Ms - 20) < 0.1,
                $"frames are counted: {told.FramesMissed} of {told.Frames}, {told.FrameP50Ms} ms");
            Expect(told.BytesInUse >= 5000 && told.Slices > 0 && told.Share <= 1, "so is the rest");
            engine.FrameBegin(timeNs: SottoEngine.NowNs);
            Thread.Sleep(30);
            engine.FrameEnd(); // now, on the library's clock
            for (var i = 0; i < 500 && told.Frames != 2; ++i, told = engine.Stats())
                Thread.Sleep(10);
            Expect(told.FrameP99Ms > 25 && told.FrameP99Ms < 5000, $"a frame takes {told.FrameP99Ms} ms");
        }
    }

    static void Disposal(string modules)
    {
        var engine = new SottoEngine(moduleDir: modules);
        const int gone = Native.SOTTO_ERROR_ARGUMENT;
        var waiter = new Thread(() => Throws( // the other where it begins too late
            Native.SOTTO_ERROR_CANCELLED, "waiting while another disposes", () => engine.Wait(), gone));
        waiter.Start();
        Thread.Sleep(50);
        engine.Dispose();
        Expect(waiter.Join(10000), "the waiting thread returns");
        engine.Dispose();
        Throws(gone, "submitting too late", () => engine.Submit(SottoOp.Chat, "{}"));
        Throws(gone, "polling too late", () => engine.TryNextEvent(out _));
        Throws(gone, "framing too late", () => engine.FrameBegin());
        Throws(gone, "cancelling too late", () => engine.Cancel(1));
        Throws(gone, "listing too late", () => engine.ModelsJson());
        Throws(gone, "looking at memory too late", () => engine.MemoryJson());
        Throws(gone, "planning too late", () => engine.PlanModel("npc"));
        Throws(gone, "counting too late", () => engine.Stats());
        Throws(gone, "pacing too late", () => engine.SetRequestTps(1, 2));
    }

    static void HouseModel()
    {
        using (var engine = new SottoEngine())
        {
            engine.WaitDone(engine.LoadModel(House, flags: SottoFlags.Private));
            const string more = @", ""max_tokens"": 12, ""temperature"": 0";
            var events = Drain(engine, engine.Submit(SottoOp.Chat, Ask(House, "Who guards the gate?", more)));
            var end = events[events.Count - 1];
            var said = Said(events);
            Expect(end.Status == Native.SOTTO_OK && said.Length > 0, $"it speaks: {end.Error} {said}");
            Expect(end.Tokens > 0 && end.Tokens <= 12, $"no longer than it may: {end.Tokens}");
            Console.WriteLine("the house model: " + said);
            HouseCard(engine);
        }
    }

    static void Finalizer()
    {
        var complaints = new StringWriter();
        var stderr = Console.Error;
        Console.SetError(TextWriter.Synchronized(complaints));
        for (var i = 0; i < 100 && complaints.ToString() == ""; ++i)
        {
            var forgetful = new Thread(() => { if (i < 3) new SottoEngine().FrameBegin(); });
            forgetful.Start();
            forgetful.Join();
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        Console.SetError(stderr);
        Expect(complaints.ToString().Contains("never disposed"), "a forgotten engine complains");
    }
}
