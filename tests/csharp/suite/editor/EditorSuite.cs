// The package's editor code on the stand-ins: chat box, monitor, model window, downloads, importer, build step.
using System;
using System.IO;
using System.Threading;
using Doubles;
using Sotto;
using Sotto.Editor;
using UnityEditor;
using UnityEditor.AssetImporters;
using UnityEngine;

static partial class EditorSuite
{
    static int _passed, _failed;
    static string _libraries, _temp;

    static int Main(string[] args)
    {
        _libraries = args[0];
        _temp = Path.Combine(Path.GetTempPath(), $"sotto-édition-{Guid.NewGuid()}");
        Player.StreamingAssets = Path.Combine(_temp, "Assets", "StreamingAssets");
        Player.PersistentData = Path.Combine(_temp, "data");
        Directory.CreateDirectory(Player.StreamingAssets);
        Run("inspector", Inspector);
        Run("monitor", Monitor);
        Run("plans", Plans);
        Run("downloads", Downloads);
        Run("downloads that cannot be written", UnwritableDownloads);
        Run("the download window", DownloadWindow);
        Run("importer", Importer);
        Run("build step", BuildStep);
        Run("copies of failed builds", FailedBuilds);
        Run("builds that leave out", BuildsThatLeaveOut);
        Run("builds of images", BuildsOfImages);
        Run("builds of memories", BuildsOfMemories);
        Run("sample", Sample);
        Directory.Delete(_temp, true);
        Console.WriteLine($"{_passed} passed, {_failed} failed");
        return _failed == 0 && _passed > 0 ? 0 : 1;
    }

    static void Run(string what, Action test)
    {
        try
        {
            test();
        }
        catch (Exception e)
        {
            Expect(false, $"{what} throws {e}");
        }
        Player.Reset();
        EditorPlayer.Assets.Clear();
        Gui.Shown.Clear();
        Gui.Typed.Clear();
    }

    static void Expect(bool holds, string what)
    {
        _passed += holds ? 1 : 0;
        _failed += holds ? 0 : 1;
        if (!holds)
            Console.WriteLine("FAILED " + what);
    }

    static bool Shows(string text) => Gui.Shown.Exists(line => line.Contains(text));

    static SottoSettings Settings()
    {
        var settings = ScriptableObject.CreateInstance<SottoSettings>();
        settings.name = "Game";
        settings.mode = SottoMode.PrioritizeCompute;
        settings.targetTps = 0;
        settings.moduleDir = Path.Combine(_libraries, "scripted");
        settings.defaultModel = "npc";
        var script = Path.Combine(_temp, "npc.json");
        File.WriteAllText(script, "{\"weights\": 5000000}");
        settings.models.Add(new SottoModelEntry { id = "npc", file = script });
        return settings;
    }

    static SottoCharacter NewCharacter()
    {
        var thing = new GameObject("Mara");
        thing.SetActive(false);
        var character = thing.AddComponent<SottoCharacter>();
        character.settings = Settings();
        thing.SetActive(true);
        return character;
    }

    static void Inspector()
    {
        var inspector = (SottoCharacterEditor)UnityEditor.Editor.CreateEditor(NewCharacter(), typeof(SottoCharacterEditor));
        Player.IsPlaying = false;
        inspector.OnInspectorGUI();
        Player.IsPlaying = true;
        Expect(Shows("Press Play"), "edit mode");
        Gui.Typed[""] = "good evening 🏰";
        inspector.OnInspectorGUI();
        Gui.Pressed = "Say";
        inspector.OnInspectorGUI();
        Expect(inspector.RequiresConstantRepaint(), "it repaints while an answer is under way");
        Expect(Player.FramesUntil(() => inspector.Lines.Count == 2), "it answers");
        Expect(inspector.Lines[0] == "You: good evening 🏰", inspector.Lines[0]);
        Expect(inspector.Lines[1] == "Mara: good evening 🏰", inspector.Lines[1]);
        Expect(!inspector.RequiresConstantRepaint(), "it rests");
        Gui.Shown.Clear();
        inspector.OnInspectorGUI();
        Expect(Shows("Mara: good evening 🏰"), "the conversation is shown");
        Gui.Pressed = "Cancel";
        inspector.OnInspectorGUI();
        ((SottoCharacter)inspector.target).enabled = false;
        inspector.Send("hello");
        Expect(inspector.Lines[3].Contains("disabled"), inspector.Lines[3]);
        for (var i = 0; i < 60; ++i)
            inspector.Send("again");
        Expect(inspector.Lines.Count == 40, $"{inspector.Lines.Count} lines are kept");
    }

    static void Monitor()
    {
        var window = EditorWindow.GetWindow<SottoMonitorWindow>("Sotto Monitor");
        Draw(window);
        Expect(Shows("No engine runs"), "without an engine");
        var character = NewCharacter();
        var answer = character.SayAsync("one two three");
        Expect(Player.FramesUntil(() => answer.IsDone && character.Runtime.Engine.Stats().CompletionTokens == 3), answer.Error);
        Draw(window);
        Expect(Shows("Game") && Shows("tokens/s") && Shows("5 MiB"), string.Join("\n", Gui.Shown));
        for (var i = 0; i < 300; ++i)
            Draw(window);
        Expect(window.MaxFrameMs < 1000, "samples wrap around");
    }

    // Unity calls OnGUI by its name.
    static void Draw(object window) =>
        window.GetType().GetMethod("OnGUI", System.Reflection.BindingFlags.Instance | System.Reflection.BindingFlags.NonPublic)
            .Invoke(window, null);

    static void Plans()
    {
        var settings = Settings();
        var window = EditorWindow.GetWindow<SottoModelWindow>("Sotto Models");
        Player.Assets[SottoSettings.ResourceName] = settings;
        Draw(window);
        Expect(Shows("npc: 0.0 MiB") && Shows("sotto/house: bundled"), string.Join("\n", Gui.Shown));
        Plan(window, settings);
        Expect(window.Message == "fits: as asked", window.Message);
        Close(window);
        settings.memoryBudgetMb = 1;
        Plan(window, settings);
        Expect(window.Message.StartsWith("does not fit: ") && window.Message.Contains("npc needs"), window.Message);
        Close(window);
        settings.device = "toaster";
        window.Plan(settings, settings.models[0]);
        Expect(window.Message.Contains("toaster"), window.Message);
        Player.Assets.Clear();
    }

    static void Plan(SottoModelWindow window, SottoSettings settings)
    {
        window.Plan(settings, settings.models[0]);
        for (var i = 0; i < 500 && !window.Message.Contains("fit"); ++i, Thread.Sleep(2))
            window.Update();
    }

    static void Close(SottoModelWindow window)
    {
        window.GetType().GetMethod("OnDisable", System.Reflection.BindingFlags.Instance | System.Reflection.BindingFlags.NonPublic)
            .Invoke(window, null);
    }

    // The double of UnityWebRequest reads a file and honours `Range`.
    static void Downloads()
    {
        string source = Path.Combine(_temp, "source.gguf"), target = Path.Combine(_temp, "pulled", "model.gguf");
        File.WriteAllText(source, "0123456789");
        var hash = SottoModelPull.Hash(source);
        Expect(hash == "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882", hash);
        Expect(Pull(source, target, hash) == "" && File.ReadAllText(target) == "0123456789", "a download");
        File.Delete(target);
        File.WriteAllText(target + ".part", "01234");
        Expect(Pull(source, target, hash) == "" && File.ReadAllText(target) == "0123456789", "it goes on");
        File.WriteAllText(target + ".part", "0123456789");
        Expect(Pull(source, target, hash.ToUpperInvariant()) == "", "all had arrived");
        File.WriteAllText(target + ".part", "xxxxx");
        var error = Pull(source, target, hash);
        Expect(error.Contains("expected sha256 " + hash) && !File.Exists(target + ".part"), error);
        Expect(File.ReadAllText(target) == "0123456789", "a damaged download replaces nothing");
        error = Pull(Path.Combine(_temp, "absent.gguf"), target, hash);
        Expect(error.Contains("404"), error);
        Expect(Directory.GetFiles(Path.GetDirectoryName(target)).Length == 1, "nothing else is left");
        using (new SottoModelPull("file://" + source, target, hash))
        {
        }
        Expect(File.ReadAllText(target + ".part") == "0123456789", "a stopped download keeps what has arrived");
        try
        {
            new SottoModelPull("file://" + source, target, "abc");
            Expect(false, "a hash that is none");
        }
        catch (ArgumentException refused)
        {
            Expect(refused.Message.Contains("'abc'") && refused.Message.Contains("64"), refused.Message);
        }
    }

    // A folder at the place of a file refuses to be replaced, as a full disk or a file in use does.
    static void UnwritableDownloads()
    {
        string source = Path.Combine(_temp, "source.gguf"), target = Path.Combine(_temp, "blocked", "model.gguf");
        File.WriteAllText(source, "0123456789");
        var hash = SottoModelPull.Hash(source);
        Directory.CreateDirectory(Path.Combine(target, "in use"));
        var error = Pull(source, target, hash);
        Expect(error.Contains($"'{target}' could not be written (") && error.Contains("try again"), error);
        Directory.Delete(target, true);
        File.Delete(target + ".part");
        Directory.CreateDirectory(target + ".part");
        error = Pull(source, target, hash);
        Expect(error.Contains($"'{target}' could not be written (") && !File.Exists(target), error);
        new SottoModelPull("file://" + source, target, hash).Dispose(); // throws nothing
        Directory.Delete(target + ".part");
        Expect(Pull(source, target, hash) == "" && File.Exists(target), "then it can be written");
    }

    static void DownloadWindow()
    {
        var source = Path.Combine(_temp, "tiny model.gguf");
        File.WriteAllText(source, "0123456789");
        var window = EditorWindow.GetWindow<SottoModelWindow>("Sotto Models");
        Gui.Typed["SHA-256"] = SottoModelPull.Hash(source);
        Gui.Typed["Address"] = "file://" + source + "?download=true";
        Press(window, "Download");
        for (var i = 0; i < 500 && window.Message.Length == 0; ++i)
            window.Update();
        var placed = SottoFiles.PathOf("tiny model.gguf");
        Expect(window.Message.StartsWith("downloaded") && File.Exists(placed), window.Message);
        File.Delete(placed);
        Directory.CreateDirectory(Path.Combine(placed, "in use"));
        Press(window, "Download");
        for (var i = 0; i < 500 && !window.Message.Contains("written"); ++i)
            window.Update();
        Expect(window.Message.Contains("could not be written"), "not: downloaded; " + window.Message);
        Directory.Delete(placed, true);
        foreach (var bad in new[] { "", "model.gguf", "https://", "https://example.com/", "https://example.com/.." })
        {
            Gui.Typed["Address"] = bad;
            Press(window, "Download");
            Expect(window.Message.Contains($"invalid address '{bad}': expected"), window.Message);
        }
        Close(window);
        foreach (var (url, name) in new[]
        {
            ("https://example.com/a/npc.gguf?download=true&x=1#top", "npc.gguf"),
            ("https://example.com/npc%20v2.gguf", "npc v2.gguf"), ("https://example.com/a%2Fb.gguf", "b.gguf"),
        })
            Expect(SottoModelPull.FileNameOf(url) == name, SottoModelPull.FileNameOf(url));
    }

    static void Press(SottoModelWindow window, string button)
    {
        Gui.Pressed = button;
        Draw(window);
    }

    static string Pull(string source, string target, string hash)
    {
        using (var pull = new SottoModelPull("file://" + source, target, hash))
        {
            while (!pull.IsDone)
                pull.Update();
            Expect(pull.Progress == (pull.Error == "" ? 1 : 0), $"progress {pull.Progress}");
            return pull.Error;
        }
    }

    static void Importer()
    {
        var house = Path.Combine(_libraries, "house.gguf");
        var context = new AssetImportContext(house);
        ScriptableObject.CreateInstance<SottoSheet>();
        new SottoGgufImporter().OnImportAsset(context);
        var model = (SottoModelFile)context.mainObject;
        Expect(context.Errors.Count == 0, string.Join("\n", context.Errors));
        Expect(model.architecture.Length > 0 && model.trainedContext == 2048, $"{model.architecture} {model.trainedContext}");
        Expect(model.bytes == new FileInfo(house).Length && model.tensors > 10 && model.path == house, $"{model.bytes}");
        var broken = Path.Combine(_temp, "broken.gguf");
        File.WriteAllText(broken, "no model");
        context = new AssetImportContext(broken);
        new SottoGgufImporter().OnImportAsset(context);
        Expect(context.Errors.Count == 1 && context.Errors[0].Contains("broken.gguf"), "a damaged file");
    }

    static void Sample()
    {
        Player.Data = "";
        var tavern = new GameObject("Tavern").AddComponent<Sotto.Samples.Tavern>();
        Player.Frame();
        Expect(tavern.Guests.Count == 4, $"{tavern.Guests.Count} guests");
        Gui.Typed[""] = "Who are you?";
        Draw(tavern);
        Gui.Pressed = "Say to all";
        Draw(tavern);
        var busy = 0;
        foreach (var one in tavern.Guests)
            busy += one.IsBusy ? 1 : 0;
        Expect(busy == 4, $"{busy} answer");
        Expect(
            Player.FramesUntil(() => Array.TrueForAll(System.Linq.Enumerable.ToArray(tavern.Guests), one => !one.IsBusy), 60),
            "all end");
        Draw(tavern);
        foreach (var one in tavern.Guests)
            Expect(one.Spoken.Length > 0 && Shows(one.Spoken), $"{one.name}: {one.Spoken}");
        Press(tavern, "Save", "Saved");
        tavern.Guests[3].Say("Do you know me?");
        Press(tavern, "Load", "Loaded");
        Expect(Player.FramesUntil(() => !tavern.Guests[3].IsBusy), "what a guest was saying is cancelled");
        var read = tavern.Guests[3].ReadAsync();
        Expect(Player.FramesUntil(() => read.IsDone), "a conversation is read");
        Expect(read.Json.Contains("Who are you?") && !read.Json.Contains("Do you know me?"), read.Json);
        Expect(!Player.Log.Exists(line => line.StartsWith("error") || line.StartsWith("exception")), "no errors");
        Console.WriteLine($"Pip: {tavern.Guests[3].Spoken}");
    }

    static void Press(MonoBehaviour component, string button, string notice)
    {
        Gui.Pressed = button;
        Draw(component);
        Gui.Shown.Clear();
        Expect(
            Player.FramesUntil(() =>
            {
                Draw(component);
                return Shows(notice);
            }), $"{button}: " + string.Join("; ", Gui.Shown));
    }
}
