// The engines and stores of this application domain, so that none outlives the game or the domain.
using System;
using System.Collections.Generic;

namespace Sotto
{
    /// <summary>
    /// Destroys engines and stores that were not disposed, before threads and open files outlive the game's code.
    /// </summary>
    /// <remarks>
    /// It does so when Unity's editor reloads assemblies or leaves play mode, when a player quits, when the domain or
    /// a collectible load context is unloaded, and when an engine or a store is created after the garbage collector
    /// found another one unreachable. With domain reload disabled, statics survive play mode, and so does this list.
    /// References to owners are weak: an engine or a store that is listed here can still be collected.
    /// </remarks>
    internal static class LiveHandles
    {
        sealed class Entry
        {
            public WeakReference<IDisposable> Owner;
            public Action<IntPtr> Destroy;
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

        static LiveHandles()
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

        /// <summary>Lists a new handle.</summary>
        /// <param name="owner">The object that destroys the handle when it is disposed.</param>
        /// <param name="handle">The handle.</param>
        /// <param name="destroy">Frees the handle; does nothing for one that is freed.</param>
        internal static void Add(IDisposable owner, IntPtr handle, Action<IntPtr> destroy)
        {
            var entry = new Entry
            {
                Owner = new WeakReference<IDisposable>(owner),
                Destroy = destroy,
                IsOfGame = IsPlaying,
            };
            lock (Live)
                Live.Add(handle, entry);
            GC.KeepAlive(End);
        }

        /// <summary>Destroys a handle and removes it from the list. A second call does nothing.</summary>
        internal static void Destroy(IntPtr handle)
        {
            Entry entry;
            lock (Live)
                if (Live.TryGetValue(handle, out entry))
                    Live.Remove(handle);
            entry?.Destroy(handle); // waits for threads or for the disk, so not under the lock
        }

        /// <summary>Destroys handles whose owner is unreachable, so that the game cannot dispose it.</summary>
        internal static void DestroyUnreachable() => DestroyWhere(entry => !entry.Owner.TryGetTarget(out _));

        static void DestroyAll() => DestroyWhere(entry => true);

        static void DestroyWhere(Predicate<Entry> chosen)
        {
            foreach (var one in Take(chosen))
            {
                one.Value.Destroy(one.Key);
                if (one.Value.Owner.TryGetTarget(out var owner))
                    owner.Dispose(); // so that its methods throw, and awaiters are resumed
            }
        }

        static List<KeyValuePair<IntPtr, Entry>> Take(Predicate<Entry> chosen)
        {
            var taken = new List<KeyValuePair<IntPtr, Entry>>();
            lock (Live)
            {
                foreach (var one in Live)
                    if (chosen(one.Value))
                        taken.Add(one);
                foreach (var one in taken)
                    Live.Remove(one.Key);
            }
            return taken;
        }

#if UNITY_EDITOR
        // Once play mode has ended and its objects are gone: what editor windows own stays, what the game owns goes.
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
