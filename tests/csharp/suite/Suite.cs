// The Unity package's builders, awaitables and components, against the real library and the stand-ins.
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
    static int _passed, _failed;
    static string _scripted; // folder of the scripted backend
    static string _temp;

    static int Main(string[] args)
    {
        if (args.Length == 1 && args[0] == "--library")
            return PrintLibrary();
        if (args.Length == 2 && args[0] == "--sentences")
            return PrintSentences(args[1]);
        _scripted = Path.Combine(args[0], "scripted");
        _temp = Path.Combine(Path.GetTempPath(), $"sotto-süite-{Guid.NewGuid()}");
        Directory.CreateDirectory(_temp);
        Player.StreamingAssets = _temp;
        Player.PersistentData = Path.Combine(_temp, "data");
        Builders();
        Awaiting();
        Components();
        Characters();
        Conversations();
        Images();
        Remembering();
        Saving();
        Run("library errors", LibraryErrors);
        if (Directory.GetFiles(args[0], "sotto_llama*").Length > 0)
            Run("house model", () => HouseModel(args[0]));
        Directory.Delete(_temp, true);
        Console.WriteLine($"{_passed} passed, {_failed} failed");
        return _failed == 0 && _passed > 0 ? 0 : 1;
    }

    // Creates an engine and prints the status and the reason if that fails: see tests/checks/unity.py.
    static int PrintLibrary()
    {
        try
        {
            new SottoEngine().Dispose();
            Console.WriteLine("0 ");
        }
        catch (SottoException e)
        {
            Console.WriteLine($"{e.Status} {e.Message}");
        }
        var runtime = SottoRuntime.For();
        Player.Frame();
        Console.WriteLine($"runtime: {runtime.Problem}");
        Player.Quit();
        return 0;
    }

    static void Run(string what, Action test)
    {
        var before = _failed;
        try
        {
            test();
        }
        catch (Exception e)
        {
            Expect(false, $"throws {e}");
        }
        finally
        {
            Player.Reset();
            Player.Assets.Clear();
        }
        if (_failed > before)
            Console.WriteLine($"    in {what}");
    }

    static void Expect(bool holds, string what)
    {
        _passed += holds ? 1 : 0;
        _failed += holds ? 0 : 1;
        if (!holds)
            Console.WriteLine("FAILED " + what);
    }

    static void Same(object found, object wanted) =>
        Expect(Equals(found, wanted), $"expected {wanted}\n       found {found}");

    static void Throws(int status, string part, Action call)
    {
        try
        {
            call();
            Expect(false, $"no exception; expected {status} {part}");
        }
        catch (SottoException e)
        {
            Expect(e.Status == status && e.Message.Contains(part), $"throws {e.Status} {e.Message}");
        }
    }

    static SottoEngine NewEngine() => new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: _scripted);

    static void Pump(SottoEngine engine, Func<bool> done, Action<SottoEvent> other = null)
    {
        for (var i = 0; i < 5000 && !done(); ++i)
            if (engine.Drain(other) == 0)
                Thread.Sleep(2);
        Expect(done(), "the answer does not end in 10 s");
    }

    static string Load(SottoEngine engine, string id, string script = "{}")
    {
        engine.WaitDone(engine.LoadModel(id, options: script, flags: SottoFlags.Private));
        return id;
    }

    // Writes a script of the scripted backend into a file; returns its path.
    static string Script(string text)
    {
        var path = Path.Combine(_temp, $"模型-{Guid.NewGuid()}.json");
        File.WriteAllText(path, text);
        return path;
    }

    // Settings with one model, `npc`, that follows a script.
    static SottoSettings Settings(string script = "{}")
    {
        var settings = ScriptableObject.CreateInstance<SottoSettings>();
        settings.mode = SottoMode.PrioritizeCompute;
        settings.targetTps = 0;
        settings.moduleDir = _scripted;
        settings.defaultModel = "npc";
        settings.models.Add(new SottoModelEntry { id = "npc", file = Script(script) });
        return settings;
    }

    static SottoCharacter NewCharacter(SottoSettings settings, SottoSheet sheet = null, string name = "Mara")
    {
        var thing = new GameObject(name);
        thing.SetActive(false);
        var character = thing.AddComponent<SottoCharacter>();
        character.settings = settings;
        character.sheet = sheet;
        thing.SetActive(true);
        return character;
    }

    static List<string> Logged(string kind) => Player.Log.FindAll(line => line.StartsWith(kind));
}
