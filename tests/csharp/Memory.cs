// The memories of a character through the Unity runtime's class; the ids are those of python/sotto/npc/memory.py.
using System;
using System.Collections.Generic;
using System.IO;
using System.Threading.Tasks;
using Sotto;
using Sotto.Interop;

static partial class Program
{
    static double _now; // of the characters' clock, in seconds

    // A vector by the letters of a text: texts with the same words are near each other.
    static float[][] Letters(string[] texts) =>
        Array.ConvertAll(texts, text =>
        {
            var vector = new float[26];
            vector[0] = 0.1f;
            foreach (var c in text.ToLowerInvariant())
                if (c >= 'a' && c <= 'z')
                    vector[c - 'a'] += 1;
            return vector;
        });

    static SottoCharacterMemory Remembering(SottoStore store, string name, SottoForgetting rule = null) =>
        new SottoCharacterMemory(store, name, Letters, rule, () => _now);

    static void Memory(string modules)
    {
        var folder = NewFolder();
        _now = 1_800_000_000.25;
        using (var store = SottoStore.Open(folder, "millbrook", 26))
        {
            Remember(store);
            Recall(store);
            Forgetting(store);
            States(store);
            BadMemoryInput(store);
            MemoryAsync(store).Wait();
        }
        using (var store = SottoStore.Open(folder, "engine", 2))
            WithEngine(store, modules);
        Throws(Native.SOTTO_ERROR_STATE, "memories of a closed store", () =>
        {
            var store = SottoStore.Open(folder, "closed", 26);
            store.Dispose();
            Remembering(store, "Mara").Tell("The bridge has fallen.");
        });
        Directory.Delete(folder, true);
    }

    static void Remember(SottoStore store)
    {
        var mara = Remembering(store, "Mara Büttner");
        mara.Tell("  The  cellar\nis\tlocked\u00a0after dusk.\u001f ");
        var entry = store.Get("Mara Büttner/dabc9269c51ccc79e5f6beb2a1a2fc3b");
        Expect(entry != null, "an entry has the id that Python gives it: " + mara.List()[0].Id);
        Expect(entry.Value == "The cellar is locked after dusk." && entry.Namespace == "Mara Büttner", entry.Value);
        Expect(entry.Metadata == "{\"kind\":\"fact\"}" && entry.Importance == 0.8, entry.Metadata);
        Expect(entry.CreatedMs == 1800000000250 && entry.AccessedMs == entry.CreatedMs, $"{entry.CreatedMs}");
        mara.Overhear("The bridge has fallen 🏰.", "Odo");
        Expect(store.Get("Mara Büttner/74d50651debf4c3ab1078f598dd26eb7")?.Value == "Odo said: The bridge has fallen 🏰.", "what is overheard");
        Expect(
            mara.RememberExchange("", "Hello!\nIs it late?", " Yes. ") == "The visitor said: Hello! Is it late? You said: Yes.",
            "an exchange is one line");
        mara.Add(new[] { "They met.", " ", "", null, "They  met." }, SottoMemoryKind.Summary, 1);
        var kinds = string.Join(",", mara.List().ConvertAll(one => $"{one.Kind} {one.Importance}"));
        Expect(kinds == "Fact 0.8,Heard 0.3,Said 0.3,Summary 1", $"memories and kinds: {kinds}");
        _now += 10;
        mara.Tell("The cellar is locked after dusk.", 0.9);
        var first = mara.List()[0];
        Expect(mara.Count() == 4 && first.Importance == 0.9 && first.Used == _now, "a known sentence is recent again");
        Expect(Remembering(store, "Odo").Count() == 0, "another character has its own memories");
    }

    static void Recall(SottoStore store)
    {
        var odo = Remembering(store, "Odo");
        odo.Add(new[] { "Stew costs four copper.", "The ferry leaves at noon.", "Ilse lost a silver ring." });
        var found = odo.Recall("When does the ferry leave?", 2);
        Expect(found.Count == 2 && found[0].Text == "The ferry leaves at noon.", "the best memory comes first");
        Expect(found[0].Kind == SottoMemoryKind.Fact && found[0].Id.StartsWith("Odo/"), "it is whole");
        found = odo.Recall("When does the ferry leave?", 2, new[] { "The ferry leaves at noon." });
        Expect(found.Count == 2 && !found.Exists(one => one.Text.Contains("ferry")), "what the conversation has is left out");
        Expect(odo.Recall("ferry", 0).Count == 0 && odo.Recall(" \n", 4).Count == 0 && odo.Recall(null).Count == 0, "nothing");
        Expect(odo.Recall("ferry").TrueForAll(one => one.Used == _now), "recalling alone changes nothing");
        var before = _now;
        _now += 100;
        odo.Use(odo.Recall("ferry", 1));
        var used = odo.List().FindAll(one => one.Used == _now);
        Expect(used.Count == 1 && used[0].Text.Contains("ferry"), "a memory that is used is recent");
        Expect(odo.List().FindAll(one => one.Used == before).Count == 2, "others are not");
    }

    // The rule of sotto.npc.Forgetting: the weakest go, down to 9 tenths.
    static void Forgetting(SottoStore store)
    {
        var rule = new SottoForgetting(10, 100);
        var tobin = Remembering(store, "Tobin", rule);
        tobin.Add(new[] { "kept for ever" }, importance: 1);
        tobin.Add(new[] { "weak but old" }, importance: 0.4);
        _now += 200; // two half-lives: 0.1
        for (var i = 0; i < 8; ++i)
            tobin.Add(new[] { $"line {i}" }, importance: 0.2 + i * 0.05);
        Expect(tobin.Count() == 10 && tobin.Forget() == 0, "as many as there may be");
        tobin.Tell("one more");
        var left = string.Join(",", tobin.List().ConvertAll(one => one.Text));
        Expect(
            left == "kept for ever,line 1,line 2,line 3,line 4,line 5,line 6,line 7,one more",
            $"the two weakest are forgotten: {left}");
        var memory = new SottoMemory("i", "t", SottoMemoryKind.Fact, 0.4, 1000);
        Expect(Math.Abs(rule.Strength(memory, 1200) - 0.1) < 1e-12, "a strength halves");
        Expect(rule.Strength(memory, 900) == 0.4, "a clock that goes back weakens nothing");
        Expect(rule.Strength(new SottoMemory("i", "t", SottoMemoryKind.Fact, 1, 0), 1e9) == 1, "importance 1 stays");
        var none = Remembering(store, "Nobody", new SottoForgetting(0));
        none.Add(new[] { "a", "b" }, importance: 1);
        Expect(none.Count() == 0, "a character that keeps nothing");
    }

    static void States(SottoStore store)
    {
        var mara = Remembering(store, "Mara Büttner");
        Expect(mara.LoadState() == null, "there is no state yet");
        var state = new SottoCharacterState { Mood = "angry", Place = "the \"Kettle\"", Time = "夜" };
        state.Relationships["Tobin"] = "your son";
        mara.SaveState(state);
        state.Mood = "calm";
        mara.SaveState(state);
        var read = mara.LoadState();
        Expect(read.Mood == "calm" && read.Place == "the \"Kettle\"" && read.Time == "夜", "a state comes back");
        Expect(read.Relationships.Count == 1 && read.Relationships["Tobin"] == "your son", "with its relationships");
        var entry = store.Get("sotto.npc/Mara Büttner");
        Expect(entry.Namespace == "sotto.npc states", "it is where Python keeps it");
        var python = "{\"mood\": \"\\u591c\\ud83c\\udff0\", \"place\": null, \"relationships\": {\"A\": \"b\\n\"}, \"x\": [1, {}]}";
        store.Update(entry.Id, new SottoStoreChanges { Value = python });
        read = mara.LoadState();
        Expect(read.Mood == "夜🏰" && read.Place == "" && read.Relationships["A"] == "b\n", "a state of Python's is read");
        foreach (var bad in new[] { "", "{", "[1]", "{\"mood\": 1}", "{\"mood\" \"x\"}", "{\"mood\": \"x", "{\"mood\": \"\\q\"}",
            "{\"x\": " + new string('[', 1000), "{,}", "{\"mood\": \"\\u12\"}", "nul" })
            Throws(Native.SOTTO_ERROR_STATE, $"a damaged state {bad}", () => SottoCharacterState.Parse(bad));
    }

    static void BadMemoryInput(SottoStore store)
    {
        var mara = Remembering(store, "Mara");
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no store", () => Remembering(null, "Mara"));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no name", () => Remembering(store, null));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no engine", () => new SottoCharacterMemory(store, "Mara", null, "minilm"));
        Throws(
            Native.SOTTO_ERROR_ARGUMENT, "no embedder",
            () => new SottoCharacterMemory(store, "Mara", (Func<string[], float[][]>)null));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "a negative limit", () => mara.Recall("x", -1));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "an unknown kind", () => mara.Add(new[] { "x" }, (SottoMemoryKind)7));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "an importance", () => mara.Tell("x", 2));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no importance", () => mara.Tell("x", double.NaN));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no texts", () => mara.Add(null));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no state", () => mara.SaveState(null));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "a negative most", () => new SottoForgetting(-1));
        foreach (var half in new[] { 0, -1, double.NaN, double.PositiveInfinity })
            Throws(Native.SOTTO_ERROR_ARGUMENT, $"a half-life of {half}", () => new SottoForgetting(1, half));
        var mute = new SottoCharacterMemory(store, "Mara", texts => null);
        Throws(Native.SOTTO_ERROR_STATE, "an embedder without vectors", () => mute.Tell("x"));
        var uneven = new SottoCharacterMemory(store, "Mara", texts => new[] { new float[26], new float[2] });
        Throws(Native.SOTTO_ERROR_STATE, "vectors of two lengths", () => uneven.Add(new[] { "x", "y" }));
        Expect(mara.Count() == 0, "refused memories are not kept");
    }

    static async Task MemoryAsync(SottoStore store)
    {
        var ilse = Remembering(store, "Ilse");
        await ilse.TellAsync("The key is under the mat.").ConfigureAwait(false);
        await ilse.OverhearAsync("Rain comes.", "Odo").ConfigureAwait(false);
        var line = await ilse.RememberExchangeAsync("Odo", "Hello!", "Evening.").ConfigureAwait(false);
        var found = await ilse.RecallAsync("key", 1, new[] { line }).ConfigureAwait(false);
        Expect(found.Count == 1 && found[0].Text.Contains("mat"), "memories on another thread");
        await ilse.UseAsync(found).ConfigureAwait(false);
        await ilse.SaveStateAsync(new SottoCharacterState { Mood = "sly" }).ConfigureAwait(false);
        Expect((await ilse.LoadStateAsync().ConfigureAwait(false)).Mood == "sly", "and a state");
    }

    // The engine embeds: here a scripted model, whose vectors are always the same.
    static void WithEngine(SottoStore store, string modules)
    {
        const string script = @"{""response"": {""data"": [{""index"": 0, ""embedding"": [0.5, -1e-1]}]}, ""tokens"": []}";
        const string coded = @"{""response"": {""data"": [{""embedding"": ""AACAPwAAAMA=""}]}, ""tokens"": []}";
        const string bad = @"{""response"": {""data"": [{""embedding"": []}]}, ""tokens"": []}";
        using (var engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: modules))
        {
            engine.WaitDone(engine.LoadModel("minilm", options: script, flags: SottoFlags.Private));
            engine.WaitDone(engine.LoadModel("coded", options: coded, flags: SottoFlags.Private));
            engine.WaitDone(engine.LoadModel("bad", options: bad, flags: SottoFlags.Private));
            var vector = engine.Embed("minilm", "夜\"")[0];
            Expect(vector.Length == 2 && vector[0] == 0.5f && vector[1] == -0.1f, "a text is embedded");
            vector = engine.Embed("coded", "x")[0];
            Expect(vector.Length == 2 && vector[0] == 1 && vector[1] == -2, "a vector comes in base64");
            Throws(Native.SOTTO_ERROR_STATE, "an empty vector", () => engine.Embed("bad", "x"));
            Throws(Native.SOTTO_ERROR_STATE, "fewer vectors than texts", () => engine.Embed("minilm", "x", "y"));
            Throws(Native.SOTTO_ERROR_NOT_FOUND, "no such model", () => engine.Embed("x", "y"));
            var mara = new SottoCharacterMemory(store, "Mara", engine, "minilm");
            mara.Tell("Stew costs four copper.");
            mara.Tell("The ferry leaves at noon.");
            Expect(mara.Recall("ferry", 1)[0].Text == "The ferry leaves at noon.", "memories with an engine");
            var used = mara.List()[0].Used;
            Expect(Math.Abs(used - (DateTime.UtcNow - new DateTime(1970, 1, 1)).TotalSeconds) < 60, $"the time is now: {used}");
            var answer = engine.SubmitAsync(SottoRequest.Embed("minilm", "x"));
            for (var i = 0; i < 5000 && !answer.IsDone; ++i)
                if (engine.Drain() == 0)
                    System.Threading.Thread.Sleep(1);
            Expect(SottoEmbeddings.Parse(answer.Json)[0][0] == 0.5f, "embeddings are awaited");
            engine.Dispose();
            Throws(Native.SOTTO_ERROR_ARGUMENT, "memories of an engine that has ended", () => mara.Recall("ferry"));
        }
    }
}
