// Awaitable answers: completion in Drain, cancellation, failures, handlers that throw or ask again.
using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;
using Doubles;
using Sotto;
using Sotto.Interop;

static partial class Suite
{
    const string Song = "{\"tokens\": [\"la \"], \"loop\": true, \"token_ms\": 1}";

    static void Awaiting()
    {
        Run("await", Await);
        Run("cancel by token", CancelByToken);
        Run("failures", Failures);
        Run("handlers that throw", ThrowingHandlers);
        Run("handlers that ask again", AskingAgain);
        Run("reasoning in many parts", ReasoningInParts);
        Run("sessions and tools", SessionsAwaited);
        Run("disposal", DisposedAwaiting);
        Run("threads", Threads);
        Run("bytes of an idle frame", IdleBytes);
    }

    static void Await()
    {
        using (var engine = NewEngine())
        {
            var load = engine.LoadModelAsync(new SottoModel("npc").SetJson("load_ms", "20"));
            var progress = new List<float>();
            load.Progressed += one => progress.Add(one.Progress);
            Expect(!load.IsDone && load.Request != 0, "a load does not wait");
            Pump(engine, () => load.IsDone);
            Expect(load.Status == 0 && progress.Count > 0 && load.Progress == 1, $"progress: {string.Join(" ", progress)}");

            const string text = "one zwei 三 🏰👩‍👩‍👧 שלום";
            var answer = engine.ChatAsync(new SottoRequest("npc") { UserData = 9 }.System("s").User(text));
            var pieces = "";
            answer.TextAdded += (one, piece) => pieces += piece;
            var awaited = Continue(answer);
            Expect(!awaited.IsCompleted, "awaiting does not wait");
            Throws(Native.SOTTO_ERROR_STATE, "await", () => answer.GetAwaiter().GetResult());
            Pump(engine, () => awaited.IsCompleted);
            Same(awaited.Result, $"{text} on {Thread.CurrentThread.ManagedThreadId}");
            Same(pieces, text);
            Same(answer.Finish, SottoFinish.Stop);
            Expect(answer.Tokens == 5 && answer.Json.Contains("chat.completion"), answer.Json);
            Same(Continue(answer).Result, awaited.Result); // a complete answer continues at once
            var plan = engine.PlanModelAsync(new SottoModel("big").SetJson("weights", "5000"), 1000);
            Pump(engine, () => plan.IsDone);
            Expect(plan.GetAwaiter().GetResult().Contains("\"fits\":false"), plan.Json);
            var tokens = engine.SubmitAsync(SottoRequest.Tokenize("npc", "one three"));
            Pump(engine, () => tokens.IsDone);
            Same(tokens.GetAwaiter().GetResult(), "{\"tokens\":[3,6]}");
            var plain = engine.SubmitAsync(SottoRequest.Completion("npc", "so be it"));
            Pump(engine, () => plain.IsDone);
            Same(plain.GetAwaiter().GetResult(), "so be it");
            var gone = engine.UnloadModelAsync("npc");
            Pump(engine, () => gone.IsDone);
            Same(engine.ModelsJson(), "[]");
        }
    }

    static async Task<string> Continue(SottoAnswer answer) => $"{await answer} on {Thread.CurrentThread.ManagedThreadId}";

    static void CancelByToken()
    {
        using (var engine = NewEngine())
        using (var source = new CancellationTokenSource())
        {
            Load(engine, "bard", Song);
            var request = new SottoRequest("bard").User("sing");
            var answer = engine.ChatAsync(request, source.Token);
            var awaited = Continue(answer);
            Pump(engine, () => answer.Text.Length > 6);
            var other = new Thread(source.Cancel); // any thread may cancel
            other.Start();
            other.Join();
            Expect(!answer.IsDone, "the answer completes in Drain only");
            Pump(engine, () => awaited.IsCompleted);
            Expect(awaited.IsCanceled && answer.Status == Native.SOTTO_ERROR_CANCELLED, $"{awaited.Status}");
            var late = Continue(engine.ChatAsync(request, source.Token));
            Pump(engine, () => late.IsCompleted);
            Expect(late.IsCanceled, "a token that is cancelled already");
            var byHand = engine.ChatAsync(request);
            Expect(byHand.SetTargetTps(500), "the pace of a live answer");
            byHand.Cancel();
            byHand.Cancel();
            Pump(engine, () => byHand.IsDone);
            byHand.Cancel();
            Same(byHand.Status, Native.SOTTO_ERROR_CANCELLED);
            Expect(!byHand.SetTargetTps(1), "the pace of an ended answer");
        }
    }

    static void Failures()
    {
        using (var engine = NewEngine())
        {
            var unknown = engine.ChatAsync(new SottoRequest("nobody").User("hello"));
            var awaited = Continue(unknown);
            Pump(engine, () => awaited.IsCompleted);
            var thrown = awaited.Exception?.InnerException as SottoException;
            Expect(thrown != null && thrown.Status == Native.SOTTO_ERROR_NOT_FOUND && thrown.Message.Length > 0, $"{thrown}");
            Load(engine, "npc");
            var bad = engine.ChatAsync(new SottoRequest("npc") { MaxTokens = -4 }.User("hello"));
            Pump(engine, () => bad.IsDone);
            Expect(bad.Status == Native.SOTTO_ERROR_ARGUMENT && bad.Error.Contains("max_tokens"), bad.Error);
            Throws(
                Native.SOTTO_ERROR_ARGUMENT, "Private",
                () => engine.SubmitAsync(new SottoRequest("npc") { Flags = SottoFlags.Private }));
            Throws(
                Native.SOTTO_ERROR_ARGUMENT, "SubmitAsync",
                () => engine.ChatAsync(SottoRequest.Completion("npc", "x")));
            Throws(
                Native.SOTTO_ERROR_ARGUMENT, "",
                () => engine.SubmitAsync(new SottoRequest("npc") { TargetTps = -1 }));
            engine.Drain();
            var missing = engine.LoadModelAsync(new SottoModel("gone", "/nowhere/gone.gguf"));
            Pump(engine, () => missing.IsDone);
            Expect(missing.Status < 0 && missing.Error.Contains("gone.gguf"), missing.Error);
        }
    }

    static void ThrowingHandlers()
    {
        using (var engine = NewEngine())
        {
            Load(engine, "npc");
            var answer = engine.ChatAsync(new SottoRequest("npc").User("one two three"));
            answer.TextAdded += (one, piece) => throw new InvalidOperationException("text handler");
            answer.Completed += one => throw new InvalidOperationException("end handler");
            int pieces = 0, ends = 0;
            Action<SottoAnswer> removed = one => Expect(false, "a removed handler runs");
            answer.TextAdded += (one, piece) => ++pieces;
            answer.Completed += removed;
            answer.Completed += one => ++ends;
            answer.Completed -= removed;
            var second = engine.ChatAsync(new SottoRequest("npc").User("four"));
            Pump(engine, () => answer.IsDone && second.IsDone);
            Same(answer.Text, "one two three");
            Same(second.Text, "four");
            Expect(pieces == 3 && ends == 1, $"the handlers after those that throw: {pieces}, {ends}");
            Expect(Logged("exception: text handler").Count == 3, string.Join("\n", Player.Log));
            Expect(Logged("exception: end handler").Count == 1, string.Join("\n", Player.Log));
            var ids = new[] { engine.Submit(new SottoRequest("npc").User("a")), engine.Submit(new SottoRequest("npc").User("b")) };
            var ended = 0;
            Pump(engine, () => ended == 2, e =>
            {
                ended += e.IsDone && Array.IndexOf(ids, e.Request) >= 0 ? 1 : 0;
                throw new InvalidOperationException("other handler");
            });
            Expect(Logged("exception: other handler").Count >= 4, "every event reached the handler");
        }
    }

    static void ReasoningInParts()
    {
        const int parts = 6000;
        var deltas = new SottoJsonWriter().BeginArray().BeginArray();
        for (var i = 0; i < parts; ++i)
            deltas.BeginObject().Name("reasoning_content").Value("la la la ").EndObject();
        deltas.EndArray().BeginArray().EndArray().EndArray();
        using (var engine = NewEngine())
        {
            Load(engine, "thinker", $"{{\"tokens\": [\"x\"], \"deltas\": {deltas}}}");
            var answer = engine.ChatAsync(new SottoRequest("thinker").User("think"));
            Same(answer.Reasoning, "");
            GC.Collect();
            var before = GC.CollectionCount(0);
            Pump(engine, () => answer.IsDone);
            var collections = GC.CollectionCount(0) - before; // joining each part would allocate 290 MB
            Same(answer.Reasoning.Length, parts * "la la la ".Length);
            Expect(ReferenceEquals(answer.Reasoning, answer.Reasoning), "the joined text is kept");
            Expect(collections < 12, $"{collections} collections");
        }
    }

    // A handler that submits again on each error gets the next error in a later Drain.
    static void AskingAgain()
    {
        using (var engine = NewEngine())
        {
            var asked = 1;
            Action<SottoAnswer> again = null;
            again = one =>
            {
                ++asked;
                var next = engine.ChatAsync(new SottoRequest("nobody").User("hello"));
                next.Completed += again;
            };
            engine.ChatAsync(new SottoRequest("nobody").User("hello")).Completed += again;
            var worst = 0;
            for (var frame = 0; frame < 5000 && asked < 20; ++frame)
            {
                Thread.Sleep(2);
                var before = asked;
                engine.Drain();
                worst = Math.Max(worst, asked - before);
            }
            Expect(asked == 20 && worst == 1, $"{asked} requests, {worst} in one frame");
            Throws(Native.SOTTO_ERROR_STATE, "one call a frame", () =>
            {
                Exception inner = null;
                engine.Submit(new SottoRequest("nobody").User("x"));
                Pump(engine, () => inner != null, e =>
                {
                    try
                    {
                        engine.Drain();
                    }
                    catch (SottoException nested)
                    {
                        inner = nested;
                    }
                });
                throw inner;
            });
        }
    }

    static void SessionsAwaited()
    {
        using (var engine = NewEngine())
        {
            Load(engine, "npc");
            Load(engine, "doer", "{\"tokens\": [\"x\"], \"deltas\": [[], []]}");
            var mara = SottoSession.Open(engine, "mara \"夜\"", "You keep the inn.", "npc");
            var answer = mara.SayAsync("one two", new SottoRequest { MaxTokens = 1 });
            Pump(engine, () => answer.IsDone);
            Same(answer.Text, "one");
            var read = mara.ReadAsync();
            Pump(engine, () => read.IsDone);
            Expect(read.Json.Contains("You keep the inn.") && read.Json.Contains("one two"), read.Json);
            var id = mara.Say("three", new SottoRequest().Set("max_tokens", 1));
            var ended = false;
            Pump(engine, () => ended, e => ended |= e.IsDone && e.Request == id);
            var fork = mara.Fork("copy", keep: 1);
            var other = fork.SayAsync("four");
            Pump(engine, () => other.IsDone);
            read = fork.ReadAsync();
            Pump(engine, () => read.IsDone);
            Expect(!read.Json.Contains("three") && read.Json.Contains("four"), read.Json);
            mara.Dispose();
            mara.Dispose();
            read = mara.ReadAsync();
            Pump(engine, () => read.IsDone);
            Same(read.Status, Native.SOTTO_ERROR_NOT_FOUND);
        }
    }

    static void DisposedAwaiting()
    {
        var engine = NewEngine();
        Load(engine, "bard", Song);
        var awaited = Continue(engine.ChatAsync(new SottoRequest("bard").User("sing")));
        var load = engine.LoadModelAsync(new SottoModel("slow").SetJson("load_ms", "20000"));
        engine.Drain();
        var began = SottoEngine.NowNs;
        engine.Dispose(); // during a load and an answer
        Expect((SottoEngine.NowNs - began) / 1e9 < 4, "disposing does not wait for the load");
        Expect(awaited.IsCanceled && load.IsDone, "awaiting code learns of the end");
        Same(load.Status, Native.SOTTO_ERROR_CANCELLED);
        engine.Dispose();
        Same(engine.Drain(), 0);
        load.Cancel();
        Throws(Native.SOTTO_ERROR_ARGUMENT, "", () => engine.ChatAsync(new SottoRequest("bard").User("sing")));
        var elsewhere = NewEngine();
        Load(elsewhere, "bard", Song);
        awaited = Continue(elsewhere.ChatAsync(new SottoRequest("bard").User("sing")));
        var thread = new Thread(elsewhere.Dispose);
        thread.Start();
        thread.Join();
        Expect(!awaited.IsCompleted, "no code continues on another thread");
        elsewhere.Drain();
        Expect(awaited.IsCanceled, "it continues in the next Drain");
    }

    static void Threads()
    {
        using (var engine = NewEngine())
        {
            Load(engine, "npc");
            ulong submitted = 0;
            var thread = new Thread(() =>
            {
                Throws(Native.SOTTO_ERROR_STATE, "main thread", () => engine.Drain());
                Throws(Native.SOTTO_ERROR_STATE, "main thread", () => engine.ChatAsync(new SottoRequest("npc")));
                Throws(Native.SOTTO_ERROR_STATE, "main thread", () => engine.LoadModelAsync("npc"));
                submitted = engine.Submit(new SottoRequest("npc").User("from elsewhere"));
            });
            thread.Start();
            thread.Join();
            var text = "";
            var ended = false;
            Pump(engine, () => ended, e =>
            {
                text += e.Request == submitted && e.Kind == SottoEventKind.Text ? e.Text : "";
                ended |= e.Request == submitted && e.IsDone;
            });
            Same(text, "from elsewhere");
            var answer = engine.ChatAsync(new SottoRequest("npc").User("hello"));
            var off = Task.Run(() => Continue(answer));
            Expect(((IAsyncResult)off).AsyncWaitHandle.WaitOne(10000), "awaiting elsewhere does not wait");
            Expect(
                off.Exception?.InnerException is SottoException refused && refused.Message.Contains("main thread"),
                $"{off.Exception}");
            Pump(engine, () => answer.IsDone);
            Same(answer.Text, "hello");
        }
    }

    static void IdleBytes()
    {
        using (var engine = NewEngine())
        {
            Load(engine, "npc");
            for (var i = 0; i < 100; ++i)
                Idle(engine);
            GC.Collect();
            var collections = GC.CollectionCount(0);
            var before = GC.GetTotalMemory(false);
            for (var i = 0; i < 20000; ++i)
                Idle(engine);
            var bytes = GC.GetTotalMemory(false) - before;
            // Mono counts in allocation buffers of some KiB; 20,000 frames that allocated would fill many.
            Expect(GC.CollectionCount(0) == collections && bytes < 65536, $"{bytes} bytes in 20,000 idle frames");
        }
    }

    static void Idle(SottoEngine engine)
    {
        engine.FrameBegin(2, 16666667);
        engine.Drain();
        engine.FrameEnd();
        engine.Stats();
    }
}
