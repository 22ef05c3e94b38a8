// The guard through the Unity runtime's class.
using System;
using System.Text;
using Sotto;
using Sotto.Interop;

static partial class Program
{
    const string Rules = @"{
        ""input"": [{""type"": ""phrases"", ""name"": ""rats"", ""category"": ""insult"", ""reason"": ""ein \""Schimpfwort\"""",
            ""phrases"": [""swamp rat""]}],
        ""output"": [
            {""type"": ""phrases"", ""phrases"": [""darn""], ""action"": ""rewrite"", ""replacement"": ""夜""},
            {""type"": ""regex"", ""patterns"": [""secret-[0-9]+""], ""category"": ""leak""}]}";

    static void Guard()
    {
        using (var guard = new SottoGuard(Rules))
        {
            var verdict = guard.Check(SottoGuardStage.Input, "You $w4mp  r.a.t!");
            Expect(!verdict.IsAllowed && verdict.Action == SottoGuardAction.Block, "a phrase is found in disguise");
            Expect(verdict.Checker == "rats" && verdict.Category == "insult" && verdict.Score == 1, "who found it");
            Expect(verdict.Reason == "ein \"Schimpfwort\"", $"why: {verdict.Reason}");
            verdict = guard.Check(SottoGuardStage.Input, "Guten Abend, 🏰 Müller");
            Expect(verdict.IsAllowed && verdict.Action == SottoGuardAction.Allow, "an innocent text is allowed");
            Expect(verdict.Category == null && verdict.Score == null && verdict.Reason == "", "with nothing found");
            verdict = guard.Check(SottoGuardStage.Output, "Well, darn it, 🏰.");
            Expect(verdict.IsAllowed && verdict.Action == SottoGuardAction.Rewrite, "a text is rewritten");
            Expect(verdict.Rewritten == "Well, 夜 it, 🏰." && verdict.Original == "Well, darn it, 🏰.", verdict.Rewritten);
            Expect(guard.Check(SottoGuardStage.ImagePrompt, "secret-5").IsAllowed, "a stage without checkers");
            Expect(guard.Check(SottoGuardStage.Input, null).IsAllowed, "no text is allowed");
            Expect(!guard.Check(SottoGuardStage.Output, new string('x', 100000) + " secret-5").IsAllowed, "a long text");
            GuardStreams(guard);
            Throws(Native.SOTTO_ERROR_ARGUMENT, "an unknown stage", () => guard.Check((SottoGuardStage)9, "x"));
            Throws(Native.SOTTO_ERROR_ARGUMENT, "an unknown stage", () => guard.OpenStream((SottoGuardStage)(-1)));
        }
        foreach (var config in new[] { "", null, "{", "[]", "{\"output\": [{\"type\": \"oracle\"}]}",
            "{\"output\": [{\"type\": \"regex\", \"patterns\": [\"(\"]}]}" })
            Throws(Native.SOTTO_ERROR_ARGUMENT, $"a configuration '{config}'", () => new SottoGuard(config));
        try
        {
            new SottoGuard("{\"output\": [{\"type\": \"phrases\", \"phrases\": [1]}]}");
        }
        catch (SottoException error)
        {
            Expect(error.Message.Contains("output[0].phrases[0]"), $"an error names the path: {error.Message}");
        }
        EndedGuards();
    }

    static void GuardStreams(SottoGuard guard)
    {
        const string text = "Well, darn it 🏰! Take secret-42 and go.";
        for (var size = 1; size < 9; ++size)
        {
            var shown = new StringBuilder();
            using (var stream = guard.OpenStream())
            {
                for (var i = 0; i < text.Length; i += size)
                    shown.Append(stream.Feed(text.Substring(i, Math.Min(size, text.Length - i))));
                shown.Append(stream.Finish());
                Expect(stream.IsBlocked && !stream.Verdict().IsAllowed, "a stream is blocked");
                Expect(stream.Verdict().Category == "leak", "its verdict says by what");
                Throws(Native.SOTTO_ERROR_STATE, "a piece after the end", () => stream.Feed("x"));
            }
            Expect(shown.ToString() == "Well, 夜 it 🏰! Take ", $"pieces of {size}: {shown}");
        }
        using (var stream = guard.OpenStream(SottoGuardStage.ImagePrompt))
        {
            var piece = "some castle ".Substring(5);
            Expect(ReferenceEquals(stream.Feed(piece), piece), "a piece that is released whole is the same text");
            stream.Feed("x");
            var before = GC.CollectionCount(0);
            for (var i = 0; i < 200000; ++i)
                stream.Feed(piece);
            Expect(GC.CollectionCount(0) == before, "such a piece allocates nothing");
            Expect(stream.Feed(null) == "" && stream.Feed("") == "", "an empty piece");
            Expect(stream.Feed("a\ud83c") == "a" && stream.Finish() == "\ufffd", "half a pair at the end");
        }
    }

    static void EndedGuards()
    {
        var guard = new SottoGuard(Rules);
        var stream = guard.OpenStream();
        guard.Dispose();
        guard.Dispose();
        Expect(stream.Feed("darn ") + stream.Finish() == "夜 ", "a stream outlives its guard");
        stream.Dispose();
        stream.Dispose();
        Throws(Native.SOTTO_ERROR_ARGUMENT, "a check after the end", () => guard.Check(SottoGuardStage.Input, "x"));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "a stream after the end", () => guard.OpenStream());
        Throws(Native.SOTTO_ERROR_ARGUMENT, "a piece after the end", () => stream.Feed("x"));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "the end after the end", () => stream.Finish());
    }

    // The engine checks with a scripted judge.
    static void JudgedTexts(string modules)
    {
        const string rules = @"{""input"": [{""type"": ""phrases"", ""phrases"": [""rat""]}, {""type"": ""judge"",
            ""model"": ""judge"", ""category"": ""insult"", ""instruction"": ""Block insults."", ""action"": ""rewrite"",
            ""replacement"": ""夜""}]}";
        const string script = @"{""constrainable"": true, ""tokens"": [""{\""verdict\"": \""block\""}""]}";
        using (var guard = new SottoGuard(rules))
        using (var engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: modules, guard: guard))
        {
            Throws(Native.SOTTO_ERROR_NOT_FOUND, "no judge", () => engine.CheckText(SottoGuardStage.Input, "x"));
            engine.WaitDone(engine.LoadModel("judge", options: script, flags: SottoFlags.Private));
            var verdict = engine.CheckText(SottoGuardStage.Input, "You \"swine\" 🏰");
            Expect(verdict.IsAllowed && verdict.Action == SottoGuardAction.Rewrite, "a judge rewrites");
            Expect(verdict.Rewritten == "夜" && verdict.Original == "You \"swine\" 🏰", verdict.Original);
            Expect(verdict.Checker == "judge" && verdict.Category == "insult" && verdict.Score == null, "who judged");
            Expect(engine.CheckText(SottoGuardStage.Input, "a r4t").Checker == "keyword", "phrases come before judges");
            Expect(engine.CheckText(SottoGuardStage.Output, "You swine").IsAllowed, "a stage without checkers");
            Expect(engine.CheckText(SottoGuardStage.ImagePrompt, null, "{}").IsAllowed, "other guardrails, no text");
            var found = engine.CheckText(SottoGuardStage.Output, "secret-5", Rules);
            Expect(!found.IsAllowed && found.Category == "leak", "other guardrails");
            Throws(Native.SOTTO_ERROR_ARGUMENT, "wrong guardrails",
                () => engine.CheckText(SottoGuardStage.Input, "x", "{\"inputs\": []}"));
            Throws(Native.SOTTO_ERROR_UNSUPPORTED, "a guard alone", () => guard.Check(SottoGuardStage.Input, "x"));
        }
        using (var engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: modules))
            Throws(Native.SOTTO_ERROR_STATE, "no guardrails", () => engine.CheckText(SottoGuardStage.Input, "x"));
        Throws(Native.SOTTO_ERROR_STATE, "no verdict", () => SottoVerdict.Parse("["));
    }
}
