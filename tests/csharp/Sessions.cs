// Sessions, through the Unity runtime's class.
using System;
using Sotto;
using Sotto.Interop;

static partial class Program
{
    static void Sessions(string modules)
    {
        const string sheet = @"[{""role"": ""system"", ""content"": ""You keep the inn.""}]";
        var engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: modules);
        engine.WaitDone(engine.LoadModel("npc", options: "{}", flags: SottoFlags.Private));
        var odd = "Wirtin \"夜\"\\ \u0001\n🏰"; // all that JSON has to escape
        var mara = SottoSession.Open(engine, odd, model: "npc", messages: sheet, user: 7);
        var spoken = Drain(engine, mara.Say("one \"two\"\tthree", user: 9)); // at once
        Expect(spoken[0].Request == mara.Opening && spoken[0].IsDone && spoken[0].User == 7, "it opens first");
        Expect(Said(spoken) == "one \"two\" three", $"it answers: {Said(spoken)}");
        Func<SottoSession, string> read =
            session => engine.WaitDone(session.Read(flags: SottoFlags.Private)).Json;
        using (var fork = mara.Fork("fork"))
        using (var early = mara.Fork("early", keep: 1))
        {
            Drain(engine, fork.Say("four", @", ""max_tokens"": 1"));
            Expect(read(fork).Contains("three") && read(fork).Contains("four"), read(fork));
            Expect(!read(early).Contains("three") && read(early).Contains("inn"), read(early));
            Expect(read(mara).Contains("three") && !read(mara).Contains("four"), read(mara));
        }
        var rewound = Drain(engine, mara.Rewind(user: 4));
        var done = rewound[rewound.Count - 1]; // after the events of the closed forks
        Expect(done.User == 4 && done.Status == 0, $"a turn is taken back: {done.Error}");
        Expect(!read(mara).Contains("three") && read(mara).Contains("inn"), read(mara));
        rewound = Drain(engine, mara.Rewind());
        done = rewound[rewound.Count - 1];
        Expect(done.Status == Native.SOTTO_ERROR_ARGUMENT, $"there is no turn left: {done.Error}");
        Drain(engine, mara.SetSystem("You keep the \"Otter\"."));
        Expect(read(mara).Contains(@"You keep the \""Otter\""."), read(mara));
        var told = SottoJson.Field(@"{""say"": ""Stay a\""wh", "say", out var complete);
        Expect(told == "Stay a\"wh" && !complete, told);
        told = SottoJson.Field("{\"say\": " + SottoJson.Quote(odd) + "}", "say", out complete);
        Expect(told == odd && complete, told);
        engine.WaitDone(engine.LoadModel("two", options: @"{""streams"": 2}", flags: SottoFlags.Private));
        using (var first = SottoSession.Open(engine, "first", model: "two"))
        using (var second = SottoSession.Open(engine, "second", model: "two"))
        {
            Drain(engine, first.Pin());
            Expect(read(first).Contains(@"""pinned"":true"), read(first));
            var refused = Drain(engine, second.Pin(user: 3));
            var last = refused[refused.Count - 1];
            Expect(last.Status == Native.SOTTO_ERROR_BUDGET && last.User == 3, "one place is left to others");
            Drain(engine, first.Pin(false));
            var after = Drain(engine, second.Pin());
            Expect(after[after.Count - 1].Status == 0, "the place is there for another");
        }
        TokenSessions(engine);
        const int notFound = Native.SOTTO_ERROR_NOT_FOUND;
        Throws(notFound, "a session that was closed", () => read(new SottoSession(engine, "fork")));
        var taken = engine.Submit(SottoOp.OpenSession, @"{""session"": ""inn""}", flags: SottoFlags.Private);
        engine.WaitDone(taken);
        taken = engine.Submit(SottoOp.OpenSession, @"{""session"": ""inn""}", flags: SottoFlags.Private);
        Throws(Native.SOTTO_ERROR_STATE, "an id that is taken", () => engine.WaitDone(taken));
        mara.Dispose();
        mara.Dispose();
        Throws(notFound, "one that is disposed", () => read(mara));
        var left = SottoSession.Open(engine, "left");
        engine.Dispose();
        left.Dispose(); // the engine took it along
        Throws(Native.SOTTO_ERROR_ARGUMENT, "an engine that is gone", () => left.Say("hello"));
    }

    static void TokenSessions(SottoEngine engine)
    {
        var options = @"{""token_ids"": true, ""tokens"": [""a"", ""b""], ""fingerprint"": ""{}""}";
        engine.WaitDone(engine.LoadModel("raw", options: options, flags: SottoFlags.Private));
        Func<SottoTokenSession, string> read = session => engine.WaitDone(session.Read(flags: SottoFlags.Private)).Json;
        using (var raw = SottoTokenSession.Open(engine, "raw", new[] { 5, 6, 7 }, "raw"))
        {
            Drain(engine, raw.Complete(new[] { 8 }));
            Expect(read(raw).Contains(@"""tokens"":[5,6,7,8,0,1]"), read(raw));
            using (var copy = raw.Copy("copy", 1, 3))
                Expect(read(copy).Contains(@"""tokens"":[6,7],""end"":2"), read(copy));
            Drain(engine, raw.Cut(1, 3));
            Drain(engine, raw.Shift(-2, 3));
            Expect(read(raw).Contains(@"""tokens"":[5,8,0,1],""end"":3"), read(raw));
            var all = Drain(engine, raw.ReadState());
            var state = all.Find(one => one.Kind == SottoEventKind.Data).Data;
            Expect(state.Length > 32 && all[all.Count - 1].Status == 0, all[all.Count - 1].Error);
            engine.WaitDone(engine.RestoreState("raw", state, SottoFlags.Private));
            state[state.Length - 1] ^= 1;
            Throws(Native.SOTTO_ERROR_MODEL, "a damaged state",
                () => engine.WaitDone(engine.RestoreState("raw", state, SottoFlags.Private)));
            Throws(Native.SOTTO_ERROR_ARGUMENT, "no state", () => engine.RestoreState("raw", null));
        }
    }
}
