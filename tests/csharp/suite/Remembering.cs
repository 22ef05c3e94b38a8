// SottoCharacter with a memory: what enters the prompt, what is kept, and what happens without a store.
using System;
using System.IO;
using System.Threading;
using System.Threading.Tasks;
using Doubles;
using Sotto;
using Sotto.Interop;
using UnityEngine;
using Object = UnityEngine.Object;

static partial class Suite
{
    // Embeds every text as the same vector, so that words alone decide.
    const string Embedder = @"{""response"": {""data"": [{""embedding"": [1, 0]}]}, ""tokens"": []}";

    static void Remembering()
    {
        Run("a character remembers", Remembers);
        Run("an allowance of tokens", TokenAllowance);
        Run("characters that cannot remember", CannotRemember);
        Run("a character that ends while it recalls", EndsWhileRecalling);
    }

    static SottoSettings RememberingSettings(string store, string embedder = Embedder)
    {
        var settings = Settings();
        settings.models.Add(new SottoModelEntry { id = "minilm", file = Script(embedder) });
        settings.embeddingModel = "minilm";
        settings.embeddingDim = 2;
        settings.memoryStore = store;
        return settings;
    }

    static SottoCharacter NewRemembering(SottoSettings settings, string name = "Mara")
    {
        var sheet = ScriptableObject.CreateInstance<SottoSheet>();
        sheet.fullName = name;
        sheet.visitor = "Ilse";
        sheet.facts.Add("Stew costs four copper.");
        var thing = new GameObject(name);
        thing.SetActive(false);
        var character = thing.AddComponent<SottoCharacter>();
        character.settings = settings;
        character.sheet = sheet;
        character.remembers = true;
        thing.SetActive(true);
        return character;
    }

    static void Ask(SottoCharacter character, string line)
    {
        var answer = character.SayAsync(line);
        Expect(Player.FramesUntil(() => answer.IsDone), $"'{line}' is answered");
        Same(answer.Error, "");
        Same(character.Spoken, line); // the scripted model says it back
    }

    static string Conversation(SottoCharacter character)
    {
        var read = character.ReadAsync();
        Expect(Player.FramesUntil(() => read.IsDone), "a conversation is read");
        return read.Json;
    }

    static void Remembers()
    {
        var settings = RememberingSettings("süd");
        var mara = NewRemembering(settings);
        var told = mara.TellAsync("The cellar is locked after dusk.");
        mara.OverhearAsync("The bridge has fallen.", "Odo");
        Ask(mara, "Is the cellar open?");
        Expect(told.IsCompleted && !told.IsFaulted, $"a fact is kept: {told.Exception}");
        var conversation = Conversation(mara);
        Expect(
            conversation.Contains("Facts:\\n- Stew costs four copper.\\n- The cellar is locked after dusk."), conversation);
        Expect(conversation.Contains("Memories:\\n- Odo said: The bridge has fallen."), conversation);
        Ask(mara, "Where is my silver ring?");
        Expect(
            !Conversation(mara).Contains("Ilse said: Is the cellar open?"), "what the conversation has is not recalled");
        var folder = Path.Combine(Player.PersistentData, "Sotto");
        Player.Reset(); // quits: closes the store

        using (var store = SottoStore.Open(folder, "süd", create: false))
        {
            var memories = new SottoCharacterMemory(store, "Mara", texts => null).List();
            var lines = string.Join("|", memories.ConvertAll(one => $"{one.Kind}: {one.Text}"));
            Expect(
                lines.StartsWith("Fact: The cellar is locked after dusk.|Heard: Odo said: The bridge has fallen.|"
                    + "Said: Ilse said: Is the cellar open? You said: Is the cellar open?"), lines);
        }

        mara = NewRemembering(RememberingSettings("süd")); // the next day
        mara.recalled = 2;
        Ask(mara, "My ring? The silver cellar?");
        Expect(Conversation(mara).Contains("Ilse said: "), "it recalls an earlier conversation");
        mara.enabled = false;
        Throws(Native.SOTTO_ERROR_STATE, "disabled", () => mara.TellAsync("x"));
        Expect(mara.Memory == null, "a disabled character has no memory");
        mara.enabled = true;
        Ask(mara, "Again?");
        Same(Logged("error").Count + Logged("warning").Count, 0);
    }

    static void TokenAllowance()
    {
        foreach (var (allowance, wanted) in new[] { (0, 3), (1, 0), (7, 1), (8, 2), (100, 3) })
        {
            var mara = NewRemembering(RememberingSettings($"allowance{allowance}"));
            mara.memoryTokens = allowance; // the scripted model counts a token for each word
            var told = new[] { "one bell two three", "four bell five six", "seven bell eight nine" };
            var kept = Array.ConvertAll(told, fact => mara.TellAsync(fact));
            Ask(mara, "bell");
            foreach (var one in kept)
                Expect(one.IsCompleted && !one.IsFaulted, $"a fact is kept: {one.Exception}");
            var conversation = Conversation(mara);
            Same(conversation.Split(new[] { " bell " }, StringSplitOptions.None).Length - 1, wanted);
            Object.Destroy(mara.gameObject);
            Player.Reset();
        }
        Same(Logged("warning").Count, 0);
    }

    static void CannotRemember()
    {
        var plain = NewCharacter(Settings());
        Throws(Native.SOTTO_ERROR_STATE, "does not remember", () => plain.TellAsync("x"));
        Ask(plain, "Hello!");
        Object.Destroy(plain.gameObject);

        var settings = Settings();
        var mara = NewRemembering(settings);
        Expect(Logged("error").Exists(line => line.Contains("set Embedding Model")), "an error says what is missing");
        Ask(mara, "Hello!");
        Object.Destroy(mara.gameObject);
        Player.Frame();

        mara = NewRemembering(RememberingSettings("a/b"));
        Ask(mara, "Hello!");
        Expect(
            Logged("warning").Exists(line => line.Contains("without its memories") && line.Contains("a/b")),
            "a store that cannot be opened: " + string.Join("; ", Player.Log));
        var told = mara.TellAsync("x");
        Expect(Player.FramesUntil(() => told.IsFaulted), "telling fails in its task");
        Object.Destroy(mara.gameObject);
        Player.Frame();

        mara = NewRemembering(RememberingSettings("broken", "{\"fail_load\": \"broken\"}"), "Odo");
        Ask(mara, "Hello!");
        Expect(Logged("warning").FindAll(line => line.Contains("'Odo' answers without")).Count == 1, "no embedding model");
    }

    static void EndsWhileRecalling()
    {
        for (var i = 0; i < 10; ++i)
        {
            var mara = NewRemembering(RememberingSettings($"end{i}"));
            var answer = mara.SayAsync("Hello!");
            for (var frames = 0; frames < i; ++frames)
                Player.Frame();
            if (i % 2 == 0)
                mara.Cancel();
            else
                Object.Destroy(mara.gameObject);
            Expect(Player.FramesUntil(() => answer.IsDone), "the answer ends");
            if (i % 3 == 0)
                Player.Reset(); // quits
        }
    }
}
