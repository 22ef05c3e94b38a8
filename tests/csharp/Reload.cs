// Application domains, one after another, each unloaded while its characters speak, as Unity's editor unloads one
// whenever it reloads scripts.
//
//   Reload.exe LIBRARIES COUNT HOW: HOW is "disposed" (the game disposes its engine) or "forgotten" (it does not).
//   Prints one JSON object.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using Sotto;
using Sotto.Interop;

static class Reload
{
    const int Settled = 10; // memory must not grow after this number of reloads
    const int MaxEngines = 1000; // far more than a process may have
    static Game _game; // of a domain

    static int Main(string[] args)
    {
        CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
        var count = int.Parse(args[1]);
        int threads = Process.Threads(), room = Room(args[0]);
        long settled = 0;
        var times = new double[count];
        for (var i = 1; i <= count; ++i)
        {
            times[i - 1] = One(args[0], args[2]);
            if (i == Settled)
                settled = Process.Memory();
        }
        var grown = Process.Memory() - settled;
        var left = Process.ThreadsAfter(threads) - threads;
        var lost = room - Room(args[0]);
        var unloads = string.Join(", ", Array.ConvertAll(times, time => time.ToString("f1")));
        Console.WriteLine(
            $"{{\"reloads\": {count}, \"threads_left\": {left}, \"engines_left\": {lost}, \"grown_kb\": {grown}, "
            + $"\"unload_ms\": [{unloads}]}}");
        return 0;
    }

    // Returns how long unloading took, in ms.
    static double One(string libraries, string how)
    {
        var domain = AppDomain.CreateDomain("game", null, AppDomain.CurrentDomain.SetupInformation);
        domain.SetData("libraries", libraries);
        domain.DoCallBack(Begin);
        var clock = Stopwatch.StartNew();
        if (how == "disposed")
            domain.DoCallBack(End); // as a component does in OnDisable
        AppDomain.Unload(domain);
        return clock.Elapsed.TotalMilliseconds;
    }

    static void Begin()
    {
        _game = new Game((string)AppDomain.CurrentDomain.GetData("libraries"));
        _game.BeginStreams();
    }

    static void End() => _game.Dispose();

    // Engines that can still be created: the limit of a process, less those that live.
    static int Room(string libraries)
    {
        var made = new List<SottoEngine>();
        try
        {
            while (made.Count < MaxEngines)
                made.Add(new SottoEngine(moduleDir: libraries));
        }
        catch (SottoException full) when (full.Status == Native.SOTTO_ERROR_BUSY)
        {
        }
        foreach (var engine in made)
            engine.Dispose();
        return made.Count;
    }
}
