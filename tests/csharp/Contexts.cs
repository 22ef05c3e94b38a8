// Collectible load contexts, one after another: how a game's code is reloaded where the runtime is CoreCLR.
//
//   Contexts.dll PLAY LIBRARIES COUNT HOW: HOW is "disposed" or "forgotten". Prints one JSON object.
using System;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;

static class Contexts
{
    const int Settled = 10; // memory must not grow after this number of contexts
    const int Collections = 50; // limit for one context

    static int Main(string[] args)
    {
        CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
        var count = int.Parse(args[2]);
        int stuck = 0, threads = Process.Threads();
        long settled = 0;
        double worst = 0;
        for (var i = 1; i <= count; ++i)
        {
            var context = Run(Path.GetFullPath(args[0]), args[1], args[3]);
            var clock = Stopwatch.StartNew();
            stuck += IsCollected(context) ? 0 : 1;
            worst = Math.Max(worst, clock.Elapsed.TotalMilliseconds);
            if (i == Settled)
                settled = Memory();
        }
        var grown = Memory() - settled;
        Console.WriteLine(
            $"{{\"contexts\": {count}, \"not_collected\": {stuck}, \"threads_left\": {Process.ThreadsAfter(threads) - threads}, "
            + $"\"grown_kb\": {grown}, \"worst_unload_ms\": {worst.ToString("f1")}}}");
        return 0;
    }

    [MethodImpl(MethodImplOptions.NoInlining)] // so that no local of this method outlives it
    static WeakReference Run(string file, string libraries, string how)
    {
        var context = new AssemblyLoadContext("game", isCollectible: true);
        var play = context.LoadFromAssemblyPath(file).GetType("Play");
        play.GetMethod("Begin").Invoke(null, new object[] { libraries });
        if (how == "disposed")
            play.GetMethod("Stop").Invoke(null, null);
        context.Unload();
        return new WeakReference(context, trackResurrection: true);
    }

    // Without memory that the garbage collector keeps for later.
    static long Memory()
    {
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
        return Process.Memory();
    }

    static bool IsCollected(WeakReference context)
    {
        for (var i = 0; i < Collections && context.IsAlive; ++i)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        return !context.IsAlive;
    }
}
