// SottoRuntime: one engine for the same settings, frames, scenes, quitting, models that are missing.
using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;
using Doubles;
using Sotto;
using Sotto.Interop;
using UnityEngine;

static partial class Suite
{
    static void Components()
    {
        Run("one runtime", OneRuntime);
        Run("two runtimes", TwoRuntimes);
        Run("frames", Frames);
        Run("frames that are not drawn", FramesInBatchMode);
        Run("missing models", MissingModel);
        Run("embedded models", EmbeddedModels);
        Run("files on Android", PackedFiles);
        Run("quitting during a load", QuitDuringLoad);
        Run("settings out of range", BadSettings);
    }

    static void OneRuntime()
    {
        Player.Assets[SottoSettings.ResourceName] = Settings();
        var first = SottoRuntime.For();
        Same(first.settings, Player.Assets[SottoSettings.ResourceName]);
        var second = new GameObject("another scene's").AddComponent<SottoRuntime>();
        Player.Frame();
        Expect(second == null && SottoRuntime.All.Count == 1, "a second runtime of the same settings goes");
        Same(SottoRuntime.For(), first);
        Player.LoadScene();
        Expect(first != null && first.Engine != null, "the runtime outlives its scene");
        var load = first.LoadModel();
        Same(first.LoadModel("npc"), load);
        Expect(Player.FramesUntil(() => load.IsDone) && load.Status == 0, load.Error);
        var others = new List<SottoEvent>();
        first.EventReceived += others.Add;
        var request = first.Engine.Submit(new SottoRequest("npc").User("by hand"));
        Expect(Player.FramesUntil(() => others.Exists(e => e.IsDone && e.Request == request)), "events that nothing awaits");
        var engine = first.Engine;
        Player.Reset();
        Expect(engine.IsDisposed && SottoRuntime.All.Count == 0, "destroying it ends its engine");
        Throws(Native.SOTTO_ERROR_STATE, "no engine", () => first.LoadModel());
    }

    static void TwoRuntimes()
    {
        SottoSettings one = Settings("{\"tokens\": [\"first\"]}"), two = Settings("{\"tokens\": [\"second\"]}");
        SottoRuntime a = SottoRuntime.For(one), b = SottoRuntime.For(two);
        Expect(a != b && a.Engine != b.Engine && SottoRuntime.All.Count == 2, "each settings asset has its engine");
        SottoCharacter mara = NewCharacter(one), odo = NewCharacter(two, null, "Odo");
        SottoAnswer left = mara.SayAsync("hello"), right = odo.SayAsync("hello");
        Expect(Player.FramesUntil(() => left.IsDone && right.IsDone), "both answer");
        Same(left.Text + " " + right.Text, "first second");
        UnityEngine.Object.Destroy(a.gameObject);
        Player.Frame();
        Expect(a == null && b.Engine != null, "one goes, the other stays");
        var again = odo.SayAsync("hello");
        Expect(Player.FramesUntil(() => again.IsDone) && again.Text == "second", again.Error);
        Throws(Native.SOTTO_ERROR_STATE, "no engine", () => mara.SayAsync("hello"));
    }

    static SottoStats StatsAfter(SottoRuntime runtime, int frames)
    {
        for (var i = 0; i < frames; ++i)
        {
            Player.Frame();
            Thread.Sleep(1);
        }
        for (var i = 0; i < 500 && runtime.Engine.Stats().Frames < (ulong)frames; ++i)
            Thread.Sleep(5);
        return runtime.Engine.Stats();
    }

    static void Frames()
    {
        Application.targetFrameRate = 60;
        var runtime = SottoRuntime.For(Settings());
        Same(StatsAfter(runtime, 20).Frames, 20ul);
        Expect(runtime.EndsAfterDrawing, "a drawn frame ends after drawing");
        Same(runtime.GpuSharing, SottoGpuSharing.None); // no plugin sotto_unity beside the library, or no Unity
        Expect(runtime.GpuReason.Length > 0, "the reason why the GPU is not shared");
        var settings = Settings();
        settings.reportFrames = false;
        var silent = SottoRuntime.For(settings);
        for (var i = 0; i < 5; ++i)
            Player.Frame();
        Thread.Sleep(100);
        Same(silent.Engine.Stats().Frames, 0ul);
        Application.targetFrameRate = -1;
        QualitySettings.vSyncCount = 1;
        Expect(StatsAfter(runtime, 5).Frames >= 25, "with vertical sync");
        QualitySettings.vSyncCount = 0;
    }

    static void FramesInBatchMode()
    {
        Player.IsBatchMode = true;
        try
        {
            var runtime = SottoRuntime.For(Settings());
            Expect(!runtime.EndsAfterDrawing, "a server draws nothing");
            Same(StatsAfter(runtime, 10).Frames, 10ul);
        }
        finally
        {
            Player.IsBatchMode = false;
        }
    }

    static void MissingModel()
    {
        var settings = Settings();
        settings.models[0].file = "gone.gguf";
        var runtime = SottoRuntime.For(settings);
        var load = runtime.LoadModel();
        Expect(!load.IsDone, "no handler runs inside LoadModel");
        Player.Frame();
        Expect(load.IsDone && load.Status == Native.SOTTO_ERROR_NOT_FOUND, load.Error);
        Expect(load.Error.Contains("gone.gguf") && load.Error.Contains("StreamingAssets"), load.Error);
        Same(Logged("error: Sotto could not load a model").Count, 1);
        settings.models[0].file = Script("{}");
        var again = runtime.LoadModel();
        Expect(again != load && Player.FramesUntil(() => again.IsDone) && again.Status == 0, again.Error);
        var unknown = runtime.LoadModel("/nowhere/unknown.gguf");
        Expect(Player.FramesUntil(() => unknown.IsDone) && unknown.Status < 0, unknown.Error);
    }

    // The build step copies them into StreamingAssets; the scripted backend stands in for the one of ONNX files.
    static void EmbeddedModels()
    {
        var settings = Settings();
        settings.models.Add(new SottoModelEntry { id = SottoSettings.Matting, backend = "scripted" });
        var runtime = SottoRuntime.For(settings);
        var absent = runtime.LoadModel(SottoSettings.Matting);
        Expect(Player.FramesUntil(() => absent.IsDone) && absent.Status < 0, "no file is there: " + absent.Error);
        Directory.CreateDirectory(Path.Combine(_temp, SottoFiles.Folder));
        var placed = Path.Combine(_temp, SottoFiles.Folder, SottoFiles.MattingFile);
        File.WriteAllText(placed, Painter(1, (Pixels(2, 2, 4), Info(0, 2, 2, format: "raw"))));
        var cut = runtime.RemoveBackgroundAsync(SottoSettings.Matting, Pixels(1, 1, 4), format: SottoImageFormat.Raw);
        Expect(Player.FramesUntil(() => cut.IsDone) && cut.Images.Count == 1, cut.Answer.Error);
        File.Delete(placed);
        var model = SottoRuntime.For().LoadModel(SottoSettings.Matting); // without settings: by the id alone
        Expect(Player.FramesUntil(() => model.IsDone) && !model.Error.Contains("StreamingAssets"), model.Error);
    }

    // Android keeps StreamingAssets in a package; the double of UnityWebRequest reads a folder for it.
    static void PackedFiles()
    {
        var assets = Path.Combine(_temp, "app.apk", "assets");
        Directory.CreateDirectory(Path.Combine(assets, SottoFiles.Folder));
        File.WriteAllText(Path.Combine(assets, SottoFiles.Folder, "npc.json"), "{\"tokens\": [\"packed\"]}");
        Player.StreamingAssets = $"jar:file://{_temp}/app.apk!/assets";
        Player.Platform = RuntimePlatform.Android;
        try
        {
            Player.BuildGuid = "first";
            var settings = Settings();
            settings.models[0].file = "npc.json";
            Expect(SottoFiles.ArePacked && SottoFiles.NeedsCopy("npc.json"), "the file is in the package");
            var answer = NewCharacter(settings).SayAsync("hello");
            Expect(Player.FramesUntil(() => answer.IsDone) && answer.Text == "packed", answer.Error);
            Expect(!SottoFiles.NeedsCopy("npc.json"), "the copy stays");
            settings.models.Add(new SottoModelEntry { id = "absent", file = "absent.gguf" });
            var load = SottoRuntime.For(settings).LoadModel("absent");
            Expect(Player.FramesUntil(() => load.IsDone) && load.Error.Contains("absent.gguf"), load.Error);
            Expect(load.Error.Contains("404") && load.Error.Contains("'absent'"), "the reason: " + load.Error);
            Expect(!File.Exists(SottoFiles.PathOf("absent.gguf") + ".part"), "a failed copy leaves no file");
            UpdatedGame(assets);
            UnwritableFolder();
        }
        finally
        {
            Web.Frames = 0;
            Player.StreamingAssets = _temp;
            Player.Platform = RuntimePlatform.LinuxPlayer;
        }
    }

    // A new build has another GUID: its models replace those of the build before. One copy serves two runtimes.
    static void UpdatedGame(string assets)
    {
        var before = SottoFiles.PathOf("npc.json");
        Player.BuildGuid = "second";
        File.WriteAllText(Path.Combine(assets, SottoFiles.Folder, "npc.json"), "{\"tokens\": [\"newer\"]}");
        Expect(SottoFiles.NeedsCopy("npc.json"), "the build has another model");
        SottoSettings one = Settings(), two = Settings();
        one.models[0].file = two.models[0].file = "npc.json";
        var sent = Web.Sent;
        Web.Frames = 3;
        SottoAnswer left = NewCharacter(one).SayAsync("hello"), right = NewCharacter(two).SayAsync("hello");
        Expect(!File.Exists(before), "the copies of the older build are removed");
        Expect(Player.FramesUntil(() => left.IsDone && right.IsDone), "both answer");
        Same(left.Text + left.Error + right.Text + right.Error, "newernewer");
        Same(Web.Sent - sent, 1);
        // A runtime that goes does not stop the copy for the others, nor a later one.
        Player.BuildGuid = "third";
        SottoSettings gone = Settings(), stays = Settings();
        gone.models[0].file = stays.models[0].file = "npc.json";
        SottoRuntime.For(gone).LoadModel();
        SottoRuntime.For(stays).LoadModel();
        UnityEngine.Object.DestroyImmediate(SottoRuntime.For(gone).gameObject);
        var load = SottoRuntime.For(stays).LoadModel();
        Expect(Player.FramesUntil(() => load.IsDone) && load.Status == 0, load.Error);
        // A model that is unloaded while its file is copied does not load afterwards.
        Player.BuildGuid = "fourth";
        var failures = new List<string>();
        var settings = Settings();
        settings.models[0].file = "npc.json";
        var mara = NewCharacter(settings);
        mara.onFailed.AddListener(failures.Add);
        mara.Say("hello");
        mara.Runtime.UnloadModel();
        Expect(Player.FramesUntil(() => failures.Count == 1), "the line fails");
        Expect(failures[0].Contains("unloaded while its file was being copied"), failures[0]);
        Expect(Player.FramesUntil(() => !SottoFiles.NeedsCopy("npc.json")), "the copy ends");
        for (var i = 0; i < 20; ++i, Thread.Sleep(2))
            Player.Frame();
        Same(mara.Runtime.Engine.ModelsJson(), "[]");
        Web.Frames = 0;
    }

    static void UnwritableFolder()
    {
        var data = Player.PersistentData;
        Player.PersistentData = Path.Combine(_temp, "no folder");
        File.WriteAllText(Player.PersistentData, "");
        var settings = Settings();
        settings.models[0].file = "npc.json";
        var load = SottoRuntime.For(settings).LoadModel();
        Expect(Player.FramesUntil(() => load.IsDone) && load.Error.Contains(Player.PersistentData), load.Error);
        Expect(load.Error.Contains("could not be copied") && load.Error.Contains("free space"), load.Error);
        Player.PersistentData = data;
    }

    static void QuitDuringLoad()
    {
        var character = NewCharacter(Settings("{\"load_ms\": 20000}"));
        var answer = character.SayAsync("hello");
        for (var i = 0; i < 5; ++i)
            Player.Frame();
        Expect(!answer.IsDone && character.IsBusy, "the line waits for its model");
        var engine = character.Runtime.Engine;
        var began = SottoEngine.NowNs;
        Player.Quit();
        Expect((SottoEngine.NowNs - began) / 1e9 < 4, "quitting does not wait for the load");
        Expect(engine.IsDisposed && answer.IsDone, "quitting ends the engine");
        Same(answer.Status, Native.SOTTO_ERROR_CANCELLED);
        Same(Logged("exception").Count, 0);
    }

    static void BadSettings()
    {
        var settings = Settings();
        settings.device = "toaster";
        var runtime = SottoRuntime.For(settings);
        Expect(runtime.Engine == null && runtime.Problem.Contains("toaster"), runtime.Problem);
        Expect(Logged("error: Sotto is off: ").Count == 1, string.Join("\n", Player.Log));
        var character = NewCharacter(settings);
        for (var i = 0; i < 3; ++i)
            Player.Frame();
        Throws(Native.SOTTO_ERROR_ARGUMENT, "toaster", () => settings.CreateEngine());
        Throws(Native.SOTTO_ERROR_STATE, "toaster", () => character.SayAsync("hello"));
        Same(Logged("exception").Count, 0);
    }
}
