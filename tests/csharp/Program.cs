// The Unity runtime, outside Unity: run.py compiles it together with the runtime's own sources.
//
//   Program.exe LAYOUT LIBRARIES: sizes and offsets, one a line; the folder of libsotto and its modules.
using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using Sotto;
using Sotto.Interop;

static class Program
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
        Run("disposal", () => Disposal(scripted));
        Run("hooks", Hooks);
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

    static void Throws(int status, string what, Action call)
    {
        try
        {
            call();
            Expect(false, what + " throws nothing");
        }
        catch (SottoException e)
        {
            Expect(e.Status == status && e.Message.Length > 0, $"{what} throws {e.Status}, {e.Message}");
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
            Expect(end.Status == Native.SOTTO_OK && end.User == 3, $"a model loads: {end.Text}");
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
            var plain = engine.Submit(SottoOp.Text, @"{""model"": ""büttel"", ""prompt"": ""so be it""}");
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

    static void Disposal(string modules)
    {
        var engine = new SottoEngine(moduleDir: modules);
        var waiter = new Thread(() => Throws(
            Native.SOTTO_ERROR_CANCELLED, "waiting while another disposes", () => engine.Wait()));
        waiter.Start();
        Thread.Sleep(50);
        engine.Dispose();
        Expect(waiter.Join(10000), "the waiting thread returns");
        engine.Dispose();
        const int gone = Native.SOTTO_ERROR_ARGUMENT;
        Throws(gone, "submitting too late", () => engine.Submit(SottoOp.Chat, "{}"));
        Throws(gone, "polling too late", () => engine.TryNextEvent(out _));
        Throws(gone, "framing too late", () => engine.FrameBegin());
        Throws(gone, "cancelling too late", () => engine.Cancel(1));
        Throws(gone, "listing too late", () => engine.ModelsJson());
    }

    static readonly List<string> Started = new List<string>();

    static unsafe void Hooks()
    {
        sotto_thread_fn started = (self, name) =>
        {
            lock (Started)
                Started.Add($"{(long)self} {Utf8.Copy(name)}");
        };
        var text = Utf8.Bytes("höfling");
        fixed (byte* data = text)
        {
            var threads = new sotto_threads
            {
                struct_size = (uint)sizeof(sotto_threads),
                name = Utf8.Str(data, text),
                started = Marshal.GetFunctionPointerForDelegate(started),
                self = (void*)7,
            };
            var desc = new sotto_engine_desc
            {
                struct_size = (uint)sizeof(sotto_engine_desc),
                threads = &threads,
            };
            using (new SottoEngine(&desc))
            {
            }
        }
        GC.KeepAlive(started);
        Expect(Started.Count > 0, "a hook of C# is called");
        Expect(Started.TrueForAll(name => name.StartsWith("7 höfling")), string.Join(", ", Started));
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
            Expect(end.Status == Native.SOTTO_OK && said.Length > 0, $"it speaks: {end.Text} {said}");
            Expect(end.Tokens > 0 && end.Tokens <= 12, $"no longer than it may: {end.Tokens}");
            Console.WriteLine("the house model: " + said);
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
