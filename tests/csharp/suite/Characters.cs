// SottoCharacter: events, decisions, the order of lines, cancellation, destruction, priority.
using System;
using System.Collections.Generic;
using System.Threading;
using Doubles;
using Sotto;
using Sotto.Interop;
using UnityEngine;
using Object = UnityEngine.Object;

static partial class Suite
{
    static void Characters()
    {
        Run("a character speaks", Speaks);
        Run("a character decides", Decides);
        Run("lines in order", LinesInOrder);
        Run("handlers of events", EventHandlers);
        Run("destroyed mid-stream", DestroyedMidStream);
        Run("destroyed in a handler", DestroyedInHandler);
        Run("a failing model", FailingModel);
        Run("priority by distance", ByDistance);
        Run("calls off the main thread", OffMainThread);
        Run("enabled again", EnabledAgain);
        Run("a save game", SaveGame);
    }

    static void Speaks()
    {
        var sheet = ScriptableObject.CreateInstance<SottoSheet>();
        sheet.fullName = "Mara";
        const string line = "Hallo! 夜 🏰. Wie geht's? שלום";
        var mara = NewCharacter(Settings(), sheet);
        List<string> texts = new List<string>(), sentences = new List<string>(), done = new List<string>();
        mara.onText.AddListener(texts.Add);
        mara.onSentence.AddListener(sentences.Add);
        mara.onDone.AddListener(done.Add);
        mara.onFailed.AddListener(error => Expect(false, error));
        mara.Say(line); // the scripted model says it back
        Expect(mara.IsBusy && done.Count == 0, "Say does not wait");
        Expect(Player.FramesUntil(() => done.Count == 1), "it answers");
        Same(done[0], line);
        Same(mara.Spoken, line);
        Same(texts[texts.Count - 1], line);
        Same(string.Join("|", sentences), "Hallo!|夜 🏰.|Wie geht's?|שלום");
        for (var i = 1; i < texts.Count; ++i)
            Expect(texts[i].StartsWith(texts[i - 1]) && texts[i].Length > texts[i - 1].Length, "the text grows");
        Expect(!mara.IsBusy, "it is idle again");
        sheet.mood = "happy";
        mara.RefreshSheet();
        var read = mara.ReadAsync();
        Expect(Player.FramesUntil(() => read.IsDone), "its conversation is read");
        Expect(read.Json.Contains("Name: Mara\\nMood: happy") && read.Json.Contains("Wie geht's?"), read.Json);
    }

    static void Decides()
    {
        const string json = "{\"say\": \"Nine copper. \\u00dcber Nacht.\", \"emotion\": \"happy\"}";
        var pieces = new SottoJsonWriter().BeginArray();
        for (var i = 0; i < json.Length; i += 3)
            pieces.Value(json.Substring(i, Math.Min(3, json.Length - i)));
        var script = "{\"constrainable\": true, \"token_ms\": 5, \"tokens\": " + pieces.EndArray() + "}";
        var sheet = ScriptableObject.CreateInstance<SottoSheet>();
        sheet.decides = true;
        var mara = NewCharacter(Settings(script), sheet);
        List<string> texts = new List<string>(), decisions = new List<string>(), done = new List<string>();
        mara.onText.AddListener(texts.Add);
        mara.onDecision.AddListener(decisions.Add);
        mara.onDone.AddListener(done.Add);
        var answer = mara.SayAsync("How much?");
        Expect(Player.FramesUntil(() => answer.IsDone), "it decides");
        Same(answer.Error, "");
        Same(string.Join("|", decisions), json);
        Same(string.Join("|", done), "Nine copper. Über Nacht.");
        Expect(texts.Count > 3 && texts[texts.Count - 1] == done[0], string.Join("|", texts));
        Same(SottoJson.Field(decisions[0], "emotion", out _), "happy");
    }

    static void LinesInOrder()
    {
        var mara = NewCharacter(Settings("{\"token_ms\": 3}"));
        var done = new List<string>();
        mara.onDone.AddListener(done.Add);
        var answers = new[] { mara.SayAsync("first"), mara.SayAsync("second"), mara.SayAsync("third"), mara.SayAsync("fourth") };
        answers[2].Cancel(); // while it waits
        Expect(Player.FramesUntil(() => answers[3].IsDone), "all answer");
        Same(string.Join(" ", done), "first second fourth");
        Same(answers[2].Status, Native.SOTTO_ERROR_CANCELLED);
        using (var source = new CancellationTokenSource())
        {
            var awaited = Continue(mara.SayAsync("never", source.Token));
            source.Cancel();
            Expect(Player.FramesUntil(() => awaited.IsCompleted) && awaited.IsCanceled, "by a token");
        }
        var last = new[] { mara.SayAsync("a"), mara.SayAsync("b") };
        mara.Cancel();
        Expect(Player.FramesUntil(() => last[0].IsDone && last[1].IsDone), "Cancel ends all lines");
        Expect(!mara.IsBusy, "nothing waits");
        var after = mara.SayAsync("after");
        Expect(Player.FramesUntil(() => after.IsDone) && after.Text == "after", after.Error);
    }

    static void EventHandlers()
    {
        var mara = NewCharacter(Settings());
        mara.onText.AddListener(text => throw new InvalidOperationException("bubble"));
        mara.onDone.AddListener(text => throw new InvalidOperationException("end"));
        var answer = mara.SayAsync("one two three");
        Expect(Player.FramesUntil(() => answer.IsDone) && answer.Text == "one two three", answer.Error);
        var bubbles = Logged("exception: bubble").Count;
        Expect(bubbles >= 1 && bubbles <= 3, $"{bubbles} texts");
        Same(Logged("exception: end").Count, 1);

        // Asks again on each error: one request a frame at most.
        var failing = NewCharacter(Settings("{\"fail_open\": \"no\"}"));
        var failures = 0;
        failing.onFailed.AddListener(error =>
        {
            ++failures;
            failing.Say("again");
        });
        failing.Say("hello");
        var worst = 0;
        for (var frame = 0; frame < 5000 && failures < 20; ++frame)
        {
            var before = failures;
            Player.Frame();
            worst = Math.Max(worst, failures - before);
            Thread.Sleep(2);
        }
        Expect(failures == 20 && worst == 1, $"{failures} errors, {worst} in one frame");
    }

    static void DestroyedMidStream()
    {
        var mara = NewCharacter(Settings(Song));
        mara.maxTokens = 0;
        var texts = 0;
        mara.onText.AddListener(text => ++texts);
        var awaited = Continue(mara.SayAsync("sing"));
        Expect(Player.FramesUntil(() => texts > 5), "it sings");
        var runtime = mara.Runtime;
        Object.Destroy(mara.gameObject);
        Player.Frame();
        Expect(mara == null, "it is destroyed");
        var heard = texts;
        Expect(Player.FramesUntil(() => awaited.IsCompleted) && awaited.IsCanceled, "awaiting code learns of it");
        Same(texts, heard);
        Expect(Player.FramesUntil(() => runtime.Engine.Stats().Live == 0), "nothing computes for it");
        Same(Logged("exception").Count, 0);
    }

    static void DestroyedInHandler()
    {
        var settings = Settings();
        var mara = NewCharacter(settings);
        mara.onText.AddListener(text => Object.DestroyImmediate(mara.gameObject));
        var answer = mara.SayAsync("one two three");
        Expect(Player.FramesUntil(() => answer.IsDone), "the answer ends");
        var odo = NewCharacter(settings);
        odo.onDone.AddListener(text => Object.DestroyImmediate(odo.Runtime.gameObject));
        var last = odo.SayAsync("four");
        Expect(Player.FramesUntil(() => last.IsDone), "a handler destroys the runtime");
        Player.Frame();
        Same(SottoRuntime.All.Count, 0);
        Same(Logged("exception").Count, 0);
    }

    static void FailingModel()
    {
        var settings = Settings();
        settings.models[0].file = "gone.gguf";
        var mara = NewCharacter(settings);
        var failures = new List<string>();
        mara.onFailed.AddListener(failures.Add);
        var awaited = Continue(mara.SayAsync("hello"));
        mara.Say("and again");
        Same(failures.Count, 0);
        Expect(Player.FramesUntil(() => failures.Count == 2), "each line fails once");
        Expect(failures[0].Contains("gone.gguf"), failures[0]);
        Expect(awaited.IsFaulted, "awaiting code learns of it");
        settings.models[0].file = "npc\0.gguf"; // Mono's Path throws
        settings.models.Add(null);
        mara.Say("once more");
        Expect(Player.FramesUntil(() => failures.Count == 3), "a line to a model of an impossible file fails");
        Expect(failures[2].Contains("model 'npc'"), failures[2]);
        settings.models[0].file = Script("{}");
        var answer = mara.SayAsync("now");
        Expect(Player.FramesUntil(() => answer.IsDone) && answer.Text == "now", answer.Error);
    }

    static void ByDistance()
    {
        var mara = NewCharacter(Settings());
        Same(mara.Priority, SottoPriority.Normal);
        mara.listener = new GameObject("player").transform;
        foreach (var (distance, wanted) in new[]
        {
            (0f, SottoPriority.Foreground), (4f, SottoPriority.Foreground), (5f, SottoPriority.Normal),
            (20f, SottoPriority.Normal), (21f, SottoPriority.Background),
        })
        {
            mara.listener.position = new Vector3(0, 0, distance);
            Same(mara.Priority, wanted);
        }
    }

    static void OffMainThread()
    {
        var mara = NewCharacter(Settings());
        var thread = new Thread(() =>
        {
            Throws(Native.SOTTO_ERROR_STATE, "main thread", () => mara.SayAsync("hello"));
            Throws(Native.SOTTO_ERROR_STATE, "main thread", () => mara.Runtime.LoadModel());
        });
        thread.Start();
        thread.Join();
    }

    static void EnabledAgain()
    {
        var mara = NewCharacter(Settings());
        var answer = mara.SayAsync("one");
        mara.enabled = false;
        Expect(Player.FramesUntil(() => answer.IsDone) && answer.Status == Native.SOTTO_ERROR_CANCELLED, answer.Error);
        Throws(Native.SOTTO_ERROR_STATE, "disabled", () => mara.SayAsync("two"));
        for (var i = 0; i < 10; ++i)
        {
            mara.enabled = true;
            answer = mara.SayAsync("three");
            Expect(Player.FramesUntil(() => answer.IsDone) && answer.Text == "three", answer.Error);
            mara.enabled = false;
            Player.Frame();
        }
        Same(Logged("exception").Count, 0);
    }

    static void SaveGame()
    {
        var sheet = ScriptableObject.CreateInstance<SottoSheet>();
        sheet.fullName = "Mara";
        var mara = NewCharacter(Settings(), sheet);
        var answer = mara.SayAsync("remember the \"bell\" 🔔");
        Expect(Player.FramesUntil(() => answer.IsDone), "it answers");
        var saved = mara.ReadAsync();
        Expect(Player.FramesUntil(() => saved.IsDone), "it is saved");
        answer = mara.SayAsync("forget this");
        Expect(Player.FramesUntil(() => answer.IsDone), "it answers");
        mara.Restore(saved.Json);
        answer = mara.SayAsync("and now");
        var read = mara.ReadAsync();
        Expect(Player.FramesUntil(() => answer.IsDone && read.IsDone) && answer.Text == "and now", answer.Error);
        read = mara.ReadAsync();
        Expect(Player.FramesUntil(() => read.IsDone), "it is read");
        Expect(
            read.Json.Contains("🔔") && read.Json.Contains("Name: Mara") && read.Json.Contains("and now")
            && !read.Json.Contains("forget"), read.Json);
        mara.enabled = false;
        Throws(Native.SOTTO_ERROR_STATE, "disabled", () => mara.ReadAsync());
        Throws(Native.SOTTO_ERROR_STATE, "disabled", () => mara.Restore(saved.Json));
    }
}
