// A character's conversation: ids that two characters share, save games that are damaged, models that are unloaded.
using System;
using System.Collections.Generic;
using System.Threading;
using Doubles;
using Sotto;
using Sotto.Interop;
using UnityEngine;

static partial class Suite
{
    static void Conversations()
    {
        Run("one text a frame", TextOnceAFrame);
        Run("a handler starts again", StartedAgainInHandler);
        Run("a handler changes the sheet", SheetChangedInHandler);
        Run("handlers of a shared load", SharedLoad);
        Run("a model is unloaded", ModelUnloaded);
        Run("a model is unloaded during its load", UnloadedDuringLoad);
        Run("a session id twice", SharedSession);
        Run("a session id of the game", SessionOfTheGame);
        Run("damaged save games", DamagedSaveGames);
        Run("lines without an engine", LinesWithoutEngine);
        Run("lines that are refused", RefusedLines);
    }

    // A character that has answered once, so that its conversation and its model are ready.
    static SottoCharacter Ready(SottoSettings settings, string sessionId = "", string name = "Mara")
    {
        var made = NewCharacter(settings, null, name);
        if (sessionId.Length > 0)
        {
            made.enabled = false;
            made.sessionId = sessionId;
            made.enabled = true;
        }
        Answer(made, "ready");
        return made;
    }

    static string Answer(SottoCharacter character, string line)
    {
        var answer = character.SayAsync(line);
        Expect(Player.FramesUntil(() => answer.IsDone), $"{character.name} answers '{line}'");
        return answer.Status < 0 ? "! " + answer.Error : answer.Text;
    }

    static string Read(SottoAnswer reading)
    {
        Expect(Player.FramesUntil(() => reading.IsDone), "the conversation is read");
        return reading.Status < 0 ? "! " + reading.Error : reading.Json;
    }

    static void WaitForTokens(SottoRuntime runtime, ulong tokens)
    {
        for (var i = 0; i < 1000 && runtime.Engine.Stats().CompletionTokens < tokens; ++i)
            Thread.Sleep(2);
        Thread.Sleep(50); // until the last event is queued
    }

    static void TextOnceAFrame()
    {
        var mara = Ready(Settings());
        var events = new List<string>();
        mara.onText.AddListener(text => events.Add("text " + text));
        mara.onSentence.AddListener(text => events.Add("sentence " + text));
        mara.onDone.AddListener(text => events.Add("done " + text));
        var pieces = 0;
        mara.SayAsync("One two. Three four. Five").TextAdded += (answer, piece) => ++pieces;
        WaitForTokens(mara.Runtime, 6);
        Player.Frame();
        Same(
            string.Join("|", events),
            "text One two. Three four. Five|sentence One two.|sentence Three four.|sentence Five|done "
            + "One two. Three four. Five");
        Same(pieces, 5);

        var bard = NewCharacter(Settings(Song), null, "bard");
        int texts = 0, worst = 0;
        bard.onText.AddListener(text => ++texts);
        bard.maxTokens = 60;
        var song = bard.SayAsync("sing");
        for (var i = 0; i < 2000 && !song.IsDone; ++i)
        {
            var before = texts;
            Player.Frame();
            worst = Math.Max(worst, texts - before);
            Thread.Sleep(3);
        }
        Expect(worst == 1 && song.IsDone && bard.Spoken == song.Text, $"{worst} texts in one frame");
        Same(Logged("exception").Count, 0);
    }

    static void StartedAgainInHandler()
    {
        var mara = Ready(Settings("{\"token_ms\": 4}"), "guard");
        List<string> sentences = new List<string>(), done = new List<string>();
        var restarted = false;
        mara.onText.AddListener(text =>
        {
            if (restarted || !text.Contains("Three")) // which ends the first sentence
                return;
            restarted = true;
            mara.enabled = false;
            mara.enabled = true;
            mara.Say("New. Line.");
        });
        mara.onSentence.AddListener(sentences.Add);
        mara.onDone.AddListener(done.Add);
        mara.Say("One two. Three four. Five six. Seven eight. Nine ten.");
        Expect(Player.FramesUntil(() => done.Count == 1), "the second line is answered");
        Same(done[0], "New. Line.");
        Same(string.Join("|", sentences), "New.|Line.");
        Same(Logged("exception").Count + Logged("error").Count, 0);
    }

    static void SheetChangedInHandler()
    {
        var sheet = ScriptableObject.CreateInstance<SottoSheet>();
        var mara = NewCharacter(Settings("{\"token_ms\": 4}"), sheet);
        var done = new List<string>();
        mara.onText.AddListener(text => sheet.decides = text.Length > 6);
        mara.onDone.AddListener(done.Add);
        mara.onDecision.AddListener(json => Expect(false, "a line without a decision decides: " + json));
        mara.Say("one two three four five six");
        Expect(Player.FramesUntil(() => done.Count == 1), "it answers");
        Same(done[0], "one two three four five six");
        Same(Logged("exception").Count, 0);
    }

    static void SharedLoad()
    {
        var settings = Settings("{\"load_ms\": 30}");
        var runtime = SottoRuntime.For(settings);
        runtime.LoadModel().Completed += load => throw new InvalidOperationException("bar");
        var heard = 0;
        runtime.EventReceived += e => throw new InvalidOperationException("first");
        runtime.EventReceived += e => ++heard;
        var mara = NewCharacter(settings);
        Same(Answer(mara, "hello"), "hello");
        Expect(!mara.IsBusy, "it is idle again");
        runtime.Engine.Submit(new SottoRequest("npc").User("by hand"));
        Expect(Player.FramesUntil(() => heard > 2), "the second handler runs");
        Same(Logged("exception: bar").Count, 1);
        Same(Logged("exception: first").Count, heard);
    }

    static void ModelUnloaded()
    {
        var settings = Settings(Song);
        var mara = NewCharacter(settings);
        mara.maxTokens = 0;
        int texts = 0;
        var failures = new List<string>();
        mara.onText.AddListener(text => ++texts);
        mara.onFailed.AddListener(failures.Add);
        for (var i = 1; i <= 2; ++i)
        {
            texts = 0;
            mara.Say("sing");
            mara.Say("and this waits");
            Expect(Player.FramesUntil(() => texts > 2), "it sings");
            var unload = mara.Runtime.UnloadModel();
            Expect(Player.FramesUntil(() => failures.Count == 2 * i && unload.IsDone), "both lines fail");
            Expect(failures.TrueForAll(error => error.Contains("unloaded")), string.Join("|", failures));
            Expect(unload.Status == 0 && !mara.IsBusy, "nothing waits; " + unload.Error);
            Same(mara.Runtime.Engine.ModelsJson(), "[]");
        }
        texts = 0;
        var last = mara.SayAsync("again"); // loads the model
        Expect(Player.FramesUntil(() => texts > 2), "it sings again");
        mara.Cancel();
        Expect(Player.FramesUntil(() => last.IsDone) && failures.Count == 4, "its own cancellation raises no event");
        mara.Say("sing");
        Player.Frame();
        UnityEngine.Object.DestroyImmediate(mara.Runtime.gameObject);
        Player.Frame();
        Same(failures.Count, 4); // nor does the end of the engine
        Same(Logged("exception").Count, 0);
    }

    static void UnloadedDuringLoad()
    {
        var mara = NewCharacter(Settings("{\"load_ms\": 400}"));
        var failures = new List<string>();
        mara.onFailed.AddListener(failures.Add);
        mara.Say("one");
        mara.Say("two");
        for (var i = 0; i < 5; ++i)
            Player.Frame();
        mara.Runtime.UnloadModel();
        Same(Answer(mara, "three"), "three"); // loads it again
        Same(failures.Count, 2);
        Expect(failures.TrueForAll(error => error.Contains("unloaded")), string.Join("|", failures));
    }

    static void SharedSession()
    {
        var settings = Settings();
        var mara = Ready(settings, "guard");
        var odo = NewCharacter(settings, null, "Odo");
        odo.enabled = false;
        odo.sessionId = "guard";
        odo.enabled = true;
        Expect(
            Logged("error: SottoCharacter 'Odo': sessionId 'guard'")
                .Exists(line => line.Contains("'Mara'") && line.EndsWith("; give each character its own")),
            string.Join("\n", Player.Log));
        var failures = new List<string>();
        odo.onFailed.AddListener(failures.Add);
        odo.Say("who goes there?");
        Same(failures.Count, 0);
        Expect(Player.FramesUntil(() => failures.Count == 1) && failures[0].Contains("'guard'"), "the line fails");
        Throws(Native.SOTTO_ERROR_STATE, "give each character its own", () => odo.SayAsync("who?"));
        Same(odo.Session, null);
        odo.RefreshSheet();
        odo.enabled = false;
        Player.Frame();
        Same(Answer(mara, "mine"), "mine");
        var read = Read(mara.ReadAsync());
        Expect(read.Contains("ready") && read.Contains("mine") && !read.Contains("who"), read);
        mara.enabled = false;
        odo.enabled = true;
        Same(Answer(odo, "free"), "free");
        Same(Logged("error").Count, 1);
    }

    static void SessionOfTheGame()
    {
        var settings = Settings();
        var runtime = SottoRuntime.For(settings);
        var load = runtime.LoadModel(); // so that nothing but the opening keeps the line back
        Expect(Player.FramesUntil(() => load.IsDone), "the model is ready");
        var taken = SottoSession.Open(runtime.Engine, "taken", "You keep the gate.", "npc");
        var mara = NewCharacter(settings);
        mara.enabled = false;
        mara.sessionId = "taken";
        mara.enabled = true;
        var failures = new List<string>();
        mara.onFailed.AddListener(failures.Add);
        mara.Say("whose is this?"); // before the opening has failed
        Expect(Player.FramesUntil(() => failures.Count == 1), "the line fails");
        Expect(
            failures[0].Contains("sessionId 'taken'") && failures[0].EndsWith("; give each character its own"),
            failures[0]);
        Expect(!mara.IsBusy && mara.Session == null, "it has no conversation");
        mara.enabled = false;
        Player.Frame();
        var read = Read(taken.ReadAsync());
        Expect(read.Contains("You keep the gate.") && !read.Contains("whose"), read);
        taken.Dispose();
        mara.enabled = true;
        Same(Answer(mara, "mine"), "mine");
    }

    static void DamagedSaveGames()
    {
        var sheet = ScriptableObject.CreateInstance<SottoSheet>();
        sheet.fullName = "Mara";
        var mara = NewCharacter(Settings(), sheet);
        Answer(mara, "remember the bell");
        var saved = Read(mara.ReadAsync());
        foreach (var damaged in new[]
        {
            null, "", "{}", saved.Substring(0, saved.Length - 1), saved.Substring(0, saved.Length / 2),
            "[{\"role\": \"user\", \"content\": \"x\"}]", "{\"messages\": \"x\"}", "{\"messages\": {}}", "no JSON",
        })
            Throws(Native.SOTTO_ERROR_ARGUMENT, "expected what ReadAsync() returned", () => mara.Restore(damaged));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "invalid json 'no JSON'", () => mara.Restore("no JSON"));
        Same(Read(mara.ReadAsync()), saved);
        Throws(
            Native.SOTTO_ERROR_ARGUMENT, "expected what ReadAsync() returned",
            () => mara.Restore("{\"messages\":\"[],\\\"pinned\\\":true\"}"));
        var failures = new List<string>();
        mara.onFailed.AddListener(failures.Add);
        foreach (var damaged in new[]
        {
            saved.Replace("\"role\":\"user\"", "\"role\":\"uzer\""), "{\"messages\":[5]}",
            "{\"messages\":[{\"role\":\"user\"}]}",
        })
        {
            mara.Restore(damaged);
            Expect(Player.FramesUntil(() => failures.Count == 1), "the damage is told: " + damaged);
            Expect(failures[0].Contains("the save game is damaged"), failures[0]);
            failures.Clear();
            Same(Read(mara.ReadAsync()), saved);
        }
        mara.Restore("{\"messages\":[5]}");
        mara.Restore("{\"messages\":[6]}"); // before the first one has failed
        Expect(Player.FramesUntil(() => failures.Count == 1), "the damage is told");
        Same(Read(mara.ReadAsync()), saved);
        Expect(!Answer(mara, "and now?").StartsWith("!"), "the character speaks on");
        mara.Restore("{\"messages\": []}");
        Expect(!Read(mara.ReadAsync()).Contains("bell"), "an empty conversation is one");
        mara.Restore(saved);
        Expect(Read(mara.ReadAsync()).Contains("bell"), "the conversation is restored");
    }

    // As on a platform without a library: the engine could not be created.
    static void LinesWithoutEngine()
    {
        var settings = Settings();
        settings.device = "toaster";
        var mara = NewCharacter(settings);
        var failures = new List<string>();
        mara.onFailed.AddListener(error =>
        {
            failures.Add(error);
            mara.Say("again"); // one error a frame at most
        });
        mara.Say("hello");
        Same(failures.Count, 0);
        for (var i = 1; i <= 3; ++i)
        {
            Player.Frame();
            Same(failures.Count, i);
        }
        Expect(failures.TrueForAll(error => error.Contains("toaster")), failures[0]);
        Throws(Native.SOTTO_ERROR_STATE, "toaster", () => mara.SayAsync("hello"));
        Same(Logged("exception").Count, 0);
    }

    static void RefusedLines()
    {
        var mara = Ready(Settings());
        var failures = new List<string>();
        var threads = new HashSet<int>();
        mara.onFailed.AddListener(error =>
        {
            failures.Add(error);
            threads.Add(Thread.CurrentThread.ManagedThreadId);
        });
        var thread = new Thread(() => mara.Say("from elsewhere"));
        thread.Start();
        thread.Join();
        Same(failures.Count, 0);
        Player.Frame();
        Expect(failures.Count == 1 && failures[0].Contains("main thread"), string.Join("\n", failures));
        mara.enabled = false;
        mara.Say("hello");
        Player.Frame();
        Expect(failures.Count == 2 && failures[1].Contains("disabled"), string.Join("\n", failures));
        Expect(threads.Count == 1 && threads.Contains(Thread.CurrentThread.ManagedThreadId), "on the main thread");
    }
}
