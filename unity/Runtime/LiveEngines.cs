// The engines of this application domain, so that none outlives it.
using System;
using System.Collections.Generic;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>Destroys what was never disposed when the domain ends: before Unity's editor reloads assemblies.</summary>
    internal static unsafe class LiveEngines
    {
        static readonly HashSet<IntPtr> Live = new HashSet<IntPtr>();

        static LiveEngines()
        {
            AppDomain.CurrentDomain.DomainUnload += (sender, e) => DestroyAll();
#if UNITY_EDITOR
            UnityEditor.AssemblyReloadEvents.beforeAssemblyReload += DestroyAll;
            UnityEditor.EditorApplication.quitting += DestroyAll;
#endif
        }

        internal static void Add(IntPtr engine)
        {
            lock (Live)
                Live.Add(engine);
        }

        /// <summary>Destroys an engine, and forgets it. A second call does nothing.</summary>
        internal static void Destroy(IntPtr engine)
        {
            lock (Live)
                Live.Remove(engine);
            Native.sotto_engine_destroy((sotto_engine*)engine); // waits for its threads, so not under the lock
        }

        static void DestroyAll()
        {
            IntPtr[] forgotten;
            lock (Live)
            {
                forgotten = new IntPtr[Live.Count];
                Live.CopyTo(forgotten);
                Live.Clear();
            }
            foreach (var engine in forgotten)
                Native.sotto_engine_destroy((sotto_engine*)engine);
        }
    }
}
