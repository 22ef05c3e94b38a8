// SottoRuntime saves and restores the conversations of its characters, and its settings have guardrails.
using System.Collections.Generic;
using System.IO;
using Doubles;
using Sotto;
using Sotto.Interop;
using UnityEngine;

static partial class Suite
{
    static void Saving()
    {
        Run("a game is saved and restored", SavesAndRestores);
        Run("a game is restored before its characters", RestoresBefore);
        Run("a restored game that remembers", RestoresRemembering);
        Run("games that cannot be restored", CannotRestore);
        Run("guardrails of the settings", Guardrails);
    }

    static string Wait(SottoAnswer answer)
    {
        Expect(Player.FramesUntil(() => answer.IsDone), "it ends");
        return answer.Status < 0 ? $"! {answer.Status} {answer.Error}" : answer.Json;
    }

    static string SlotOf(string name) => Path.Combine(Player.PersistentData, "Sotto", name);

    static void SavesAndRestores()
    {
        var settings = Settings("{\"token_ms\": 2}");
        SottoCharacter mara = Ready(settings, "mara"), odo = Ready(settings, "odo", "Odo");
        Answer(mara, "the first evening 🔔");
        var saved = Wait(mara.Runtime.SaveGameAsync("slots/süd.sotto"));
        Expect(saved.Contains("\"sessions\":2") && File.Exists(SlotOf("slots/süd.sotto")), saved);
        var pip = Ready(settings, "pip", "Pip");
        Answer(mara, "the second evening");
        var failures = new List<string>();
        mara.onFailed.AddListener(failures.Add);
        var speaking = mara.SayAsync(string.Join(" ", new string[500]).Replace(" ", "never ")); // 1 s
        var waiting = mara.SayAsync("nor this");
        var restored = Wait(mara.Runtime.RestoreGameAsync("slots/süd.sotto"));
        Expect(restored.Contains("\"sessions\":2"), restored);
        Expect(Player.FramesUntil(() => speaking.IsDone && waiting.IsDone), "what it was saying ends");
        Same(speaking.Status, Native.SOTTO_ERROR_CANCELLED);
        Same(waiting.Status, Native.SOTTO_ERROR_CANCELLED);
        Same(failures.Count, 0);
        Same(Answer(mara, "and now"), "and now");
        var read = Read(mara.ReadAsync());
        Expect(read.Contains("first evening 🔔") && read.Contains("and now"), read);
        Expect(!read.Contains("second evening") && !read.Contains("never") && !read.Contains("nor this"), read);
        Expect(Read(odo.ReadAsync()).Contains("ready") && Read(pip.ReadAsync()).Contains("ready"), "others are whole");
        Expect(Wait(mara.Runtime.SaveGameAsync(SlotOf("other.sotto"))).Contains("\"sessions\":3"), "an absolute path");
        Same(Logged("exception").Count + Logged("error").Count, 0);
    }

    static void RestoresBefore()
    {
        var settings = Settings();
        var mara = Ready(settings, "mara");
        var made = NewCharacter(settings, null, "Odo").Session.Id; // "Odo#7"
        var next = "Odo#" + (int.Parse(made.Substring(4)) + 1);
        Ready(settings, next, "another");
        Answer(mara, "remember the bell");
        Wait(mara.Runtime.SaveGameAsync("slot1.sotto"));
        Player.Reset(); // another day

        settings = Settings();
        var runtime = SottoRuntime.For(settings);
        Expect(Wait(runtime.RestoreGameAsync("slot1.sotto")).Contains("\"sessions\":3"), "it is restored");
        mara = NewCharacter(settings);
        mara.enabled = false;
        mara.sessionId = "mara";
        mara.enabled = true;
        Same(Answer(mara, "said at once"), "said at once");
        var read = Read(mara.ReadAsync());
        Expect(read.Contains("remember the bell") && read.Contains("said at once"), read);
        var odo = NewCharacter(settings, null, "Odo"); // the id that is made up for it is in the save game
        Same(Answer(odo, "who am I?"), "who am I?");
        Expect(odo.Session.Id != next && !Read(odo.ReadAsync()).Contains("ready"), "it has a conversation of its own");
        mara.enabled = false;
        mara.enabled = true;
        Same(Answer(mara, "anew"), "anew");
        Expect(!Read(mara.ReadAsync()).Contains("bell"), "a conversation ends with its character");
        Same(Logged("error").Count, 0);
    }

    static void RestoresRemembering()
    {
        var settings = RememberingSettings("saves");
        var mara = NewRemembering(settings);
        mara.TellAsync("The cellar is locked after dusk.");
        Ask(mara, "Is the cellar open?");
        Wait(mara.Runtime.SaveGameAsync("memories.sotto"));
        Ask(mara, "Where is my silver ring?");
        Wait(mara.Runtime.RestoreGameAsync("memories.sotto"));
        mara.recalled = 1;
        Ask(mara, "My silver ring?");
        var read = Conversation(mara);
        Expect(
            read.Contains("Is the cellar open?") && read.Contains("Ilse said: Where is my silver ring?"),
            "what the conversation no longer has is recalled: " + read);
        Same(Logged("error").Count + Logged("warning").Count, 0);
    }

    static void CannotRestore()
    {
        var settings = Settings("{\"token_ms\": 2}");
        var mara = Ready(settings, "mara");
        var runtime = mara.Runtime;
        Wait(runtime.SaveGameAsync("whole.sotto"));
        var bytes = File.ReadAllBytes(SlotOf("whole.sotto"));
        bytes[bytes.Length / 2] ^= 1;
        File.WriteAllBytes(SlotOf("damaged.sotto"), bytes);
        var speaking = mara.SayAsync("this goes on and on and on and on and on");
        Expect(Wait(runtime.RestoreGameAsync("damaged.sotto")).StartsWith($"! {Native.SOTTO_ERROR_MODEL}"), "damaged");
        Expect(Wait(runtime.RestoreGameAsync("none.sotto")).StartsWith($"! {Native.SOTTO_ERROR_NOT_FOUND}"), "missing");
        Expect(Wait(runtime.RestoreGameAsync("")).StartsWith($"! {Native.SOTTO_ERROR_ARGUMENT}"), "a folder");
        Expect(
            Wait(runtime.SaveGameAsync("whole.sotto/slot")).StartsWith($"! {Native.SOTTO_ERROR_STATE}"),
            "a file as a folder");
        Expect(Player.FramesUntil(() => speaking.IsDone) && speaking.Status == 0, "nothing is cancelled");
        Expect(Read(mara.ReadAsync()).Contains("goes on"), "nothing changes");
        Throws(Native.SOTTO_ERROR_ARGUMENT, "invalid path 'null'", () => runtime.SaveGameAsync(null));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "invalid path 'a\0b'", () => runtime.SaveGameAsync("a\0b"));
        Player.Reset();
        Throws(Native.SOTTO_ERROR_STATE, "no engine", () => runtime.SaveGameAsync("whole.sotto"));
        Throws(Native.SOTTO_ERROR_STATE, "no engine", () => runtime.RestoreGameAsync("whole.sotto"));
    }

    static void Guardrails()
    {
        var settings = Settings("{\"token_ms\": 2}");
        settings.guardrails = new TextAsset(@"{
            ""input"": [{""type"": ""phrases"", ""category"": ""insult"", ""phrases"": [""swamp rat""]}],
            ""output"": [{""type"": ""phrases"", ""category"": ""leak"", ""phrases"": [""blackbird""]}]}");
        var mara = NewCharacter(settings);
        var failures = new List<string>();
        mara.onFailed.AddListener(failures.Add);
        var answer = mara.SayAsync("you $wamp r4t");
        Expect(Player.FramesUntil(() => answer.IsDone), "it ends");
        Same(answer.Status, Native.SOTTO_ERROR_BLOCKED);
        Expect(failures.Count == 1 && failures[0].Contains("insult"), string.Join("\n", failures));
        answer = mara.SayAsync("the word is blackbird today");
        Expect(Player.FramesUntil(() => answer.IsDone) && answer.Status == 0, answer.Error);
        Same(answer.Finish, SottoFinish.ContentFilter);
        Same(mara.Spoken.TrimEnd(), "the word is");
        Same(Answer(mara, "good evening"), "good evening");
        using (var guard = settings.CreateGuard())
            Expect(!guard.Check(SottoGuardStage.Input, "swamp rat").IsAllowed, "a guard for the game's own texts");
        Same(Settings().CreateGuard(), null);
        Player.Reset();

        settings = Settings();
        settings.guardrails = new TextAsset("{\"input\": [{\"type\": \"oracle\"}]}") { name = "Rules" };
        var runtime = SottoRuntime.For(settings);
        Expect(
            runtime.Engine == null && runtime.Problem.Contains("asset 'Rules'") && runtime.Problem.Contains("oracle"),
            "guardrails that are invalid leave no engine that speaks without them: " + runtime.Problem);
    }
}
