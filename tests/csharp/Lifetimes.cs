// Engines and stores that the game forgot, and the events of Unity that end them, raised here on the stand-ins.
//
//   Lifetimes LIBRARIES: prints "N passed, M failed". Compiled for the editor and for a player.
using System;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using Doubles;
using Sotto;
#if UNITY_EDITOR
using UnityEditor;
#endif
using UnityEngine;

static class Lifetimes
{
    const string Song = @"{""tokens"": [""la ""], ""loop"": true, ""token_ms"": 1}";
    static readonly string Folder = Path.Combine(Path.GetTempPath(), $"sotto-lifetimes-{Guid.NewGuid()}");
    static int passed, failed;
    static SottoEngine kept; // a static survives play mode where domain reload is disabled
    static SottoStore keptStore;

    static int Main(string[] args)
    {
        var modules = Path.Combine(args[0], "scripted");
        Unreachable(modules);
#if UNITY_EDITOR
        Reload(modules);
        PlayMode(modules);
        Ends("EditorApplication.quitting", modules, EditorPlayer.Quit);
#else
        Ends("Application.quitting", modules, Application.RaiseQuitting);
#endif
        Directory.Delete(Folder, true);
        Console.WriteLine($"{passed} passed, {failed} failed");
        return failed == 0 && passed > 0 ? 0 : 1;
    }

    static void Expect(bool holds, string what)
    {
        passed += holds ? 1 : 0;
        failed += holds ? 0 : 1;
        if (!holds)
            Console.WriteLine("FAILED " + what);
    }

    // An engine with a live stream.
    static SottoEngine Speaking(string modules)
    {
        var engine = new SottoEngine(moduleDir: modules);
        engine.WaitDone(engine.LoadModel("bard", options: Song, flags: SottoFlags.Private));
        engine.Submit(
            SottoOp.Chat, @"{""model"": ""bard"", ""messages"": [{""role"": ""user"", ""content"": ""sing""}]}");
        engine.Wait(10000);
        return engine;
    }

    static SottoStore OpenStore() => SottoStore.Open(Folder, "lore");

    // Whether the store is closed, so that it can be opened again, and its object says so.
    static bool IsGone(SottoStore store)
    {
        try
        {
            OpenStore().Dispose();
            store.Count();
            return false;
        }
        catch (SottoException end)
        {
            return end.Status == Sotto.Interop.Native.SOTTO_ERROR_STATE;
        }
    }

    static bool IsGone(SottoEngine engine)
    {
        try
        {
            engine.FrameBegin();
            return false;
        }
        catch (SottoException)
        {
            return true;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)] // so that no register of the caller holds the engine
    static WeakReference Forget(string modules) => new WeakReference(Speaking(modules));

    // Runs on a thread of its own: a conservative garbage collector may see old pointers on this one's stack.
    static WeakReference ForgetElsewhere(string modules)
    {
        WeakReference forgotten = null;
        var thread = new System.Threading.Thread(() => forgotten = Forget(modules));
        thread.Start();
        thread.Join();
        return forgotten;
    }

    static void Unreachable(string modules)
    {
        var before = Process.Threads();
        var forgotten = ForgetElsewhere(modules);
        Expect(Process.Threads() > before, "a forgotten engine has threads");
        for (var i = 0; i < 50 && forgotten.IsAlive; ++i)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        Expect(!forgotten.IsAlive, "the list of engines keeps none alive");
        new SottoEngine(moduleDir: modules).Dispose();
        Expect(Process.ThreadsAfter(before) == before, "the next engine ends one that is unreachable");
    }

    static void Ends(string what, string modules, Action raise)
    {
        var before = Process.Threads();
        kept = Speaking(modules);
        keptStore = OpenStore();
        raise();
        Expect(Process.ThreadsAfter(before) == before, $"{what} ends a forgotten engine");
        Expect(IsGone(keptStore), $"{what} closes a forgotten store");
        Expect(IsGone(kept), $"{what}: the engine's object says that it is gone");
        kept.Dispose();
        kept.Dispose();
        raise();
        Expect(Process.Threads() == before, $"{what} a second time is harmless");
    }

#if UNITY_EDITOR
    static void Reload(string modules) =>
        Ends("AssemblyReloadEvents.beforeAssemblyReload", modules, EditorPlayer.ReloadAssemblies);

    // Domain reload disabled: statics survive, and each time an engine is forgotten in one.
    static void PlayMode(string modules)
    {
        var window = Speaking(modules); // of an editor window: not the game's
        var before = Process.SteadyThreads();
        for (var i = 0; i < 20; ++i)
        {
            EditorPlayer.Change(PlayModeStateChange.ExitingEditMode);
            StartSubsystems();
            kept = Speaking(modules);
            keptStore = OpenStore();
            EditorPlayer.Change(PlayModeStateChange.EnteredPlayMode);
            EditorPlayer.Change(PlayModeStateChange.ExitingPlayMode);
            Expect(!IsGone(kept), "the game's objects are destroyed before its engines");
            Expect(keptStore.Count() == 0, "and before its stores");
            EditorPlayer.Change(PlayModeStateChange.EnteredEditMode);
            Expect(IsGone(kept), "an engine that the game forgot ends with play mode");
            Expect(IsGone(keptStore), "a store that the game forgot is closed with play mode");
            Expect(Process.ThreadsAfter(before) <= before, $"threads after play mode: {Process.Threads()}, before {before}");
        }
        Expect(!IsGone(window), "an engine of the editor survives play mode");
        window.Dispose();
    }

    // Calls the methods for RuntimeInitializeLoadType.SubsystemRegistration, as Unity does when play mode begins.
    static void StartSubsystems()
    {
        const BindingFlags any = BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic;
        foreach (var type in typeof(SottoEngine).Assembly.GetTypes())
            foreach (var method in type.GetMethods(any))
                if (Attribute.GetCustomAttribute(method, typeof(RuntimeInitializeOnLoadMethodAttribute))
                    is RuntimeInitializeOnLoadMethodAttribute when
                    && when.loadType == RuntimeInitializeLoadType.SubsystemRegistration)
                    method.Invoke(null, null);
    }
#endif
}
