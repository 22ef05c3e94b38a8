// The engines of this application domain, so that none outlives the game or the domain.
using System;
using System.Collections.Generic;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>Destroys engines that were not disposed, before their threads outlive the game's code.</summary>
    /// <remarks>
    /// It does so when Unity's editor reloads assemblies or leaves play mode, when a player quits, when the domain or
    /// a collectible load context is unloaded, and when an engine is created after the garbage collector found
    /// another one unreachable. With domain reload disabled, statics survive play mode, and so does this list.
    /// References to engines are weak: an engine that is listed here can still be collected.
    /// </remarks>
    internal static unsafe class LiveEngines
    {
        sealed class Entry
        {
            public WeakReference<SottoEngine> Owner;
            public bool IsOfGame;
        }

        // Is finalized when its domain or load context ends, also where no event says so.
        sealed class Sentinel
        {
            ~Sentinel() => DestroyAll();
        }

        static readonly Dictionary<IntPtr, Entry> Live = new Dictionary<IntPtr, Entry>();
        static readonly Sentinel End = new Sentinel();
        static bool IsPlaying { get; set; }

        static LiveEngines()
        {
            // On .NET Core and later no domain is unloaded, and the event would keep a load context alive.
            if (Environment.Version.Major == 4)
                AppDomain.CurrentDomain.DomainUnload += (sender, e) => DestroyAll();
#if UNITY_EDITOR
            UnityEditor.AssemblyReloadEvents.beforeAssemblyReload += DestroyAll;
            UnityEditor.EditorApplication.quitting += DestroyAll;
            UnityEditor.EditorApplication.playModeStateChanged += change =>
            {
                if (change == UnityEditor.PlayModeStateChange.EnteredEditMode)
                    EndGame();
            };
#elif UNITY_5_3_OR_NEWER
            UnityEngine.Application.quitting += DestroyAll;
#endif
        }

        /// <summary>Lists a new engine.</summary>
        internal static void Add(SottoEngine owner, IntPtr engine)
        {
            var entry = new Entry { Owner = new WeakReference<SottoEngine>(owner), IsOfGame = IsPlaying };
            lock (Live)
                Live.Add(engine, entry);
            GC.KeepAlive(End);
        }

        /// <summary>Destroys an engine and removes it from the list. A second call does nothing.</summary>
        internal static void Destroy(IntPtr engine)
        {
            lock (Live)
                Live.Remove(engine);
            Native.sotto_engine_destroy((sotto_engine*)engine); // waits for its threads, so not under the lock
        }

        /// <summary>Destroys engines whose SottoEngine is unreachable, so that the game cannot dispose them.</summary>
        internal static void DestroyUnreachable() => DestroyWhere(entry => !entry.Owner.TryGetTarget(out _));

        static void DestroyAll() => DestroyWhere(entry => true);

        static void DestroyWhere(Predicate<Entry> chosen)
        {
            foreach (var engine in Take(chosen))
                if (engine.Value.Owner.TryGetTarget(out var owner))
                    owner.Dispose(); // so that its methods throw, and awaiters are resumed
                else
                    Native.sotto_engine_destroy((sotto_engine*)engine.Key);
        }

        static List<KeyValuePair<IntPtr, Entry>> Take(Predicate<Entry> chosen)
        {
            var taken = new List<KeyValuePair<IntPtr, Entry>>();
            lock (Live)
            {
                foreach (var engine in Live)
                    if (chosen(engine.Value))
                        taken.Add(engine);
                foreach (var engine in taken)
                    Live.Remove(engine.Key);
            }
            return taken;
        }

#if UNITY_EDITOR
        // Once play mode has ended and its objects are gone: engines of editor windows stay, those of the game go.
        static void EndGame()
        {
            IsPlaying = false;
            DestroyWhere(entry => entry.IsOfGame);
        }

        [UnityEngine.RuntimeInitializeOnLoadMethod(UnityEngine.RuntimeInitializeLoadType.SubsystemRegistration)]
        static void BeginGame() => IsPlaying = true;
#endif
    }
}
