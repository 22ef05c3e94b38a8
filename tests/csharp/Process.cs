// This process as the system sees it: threads of the library, and memory.
using System;
using System.IO;
using System.Linq;
using System.Threading;

/// <summary>Counts threads and memory that a reload must not leave behind.</summary>
public static class Process
{
    /// <summary>Threads of the library.</summary>
    public static int Threads() =>
        Directory.GetDirectories("/proc/self/task").Count(task =>
        {
            try
            {
                return File.ReadAllText(Path.Combine(task, "comm")).StartsWith("sotto");
            }
            catch (IOException)
            {
                return false; // it has ended
            }
        });

    /// <summary>Threads of the library, once there are no more than <paramref name="wanted"/>, or after 5 s.</summary>
    public static int ThreadsAfter(int wanted)
    {
        var threads = Threads();
        for (var i = 0; i < 500 && threads > wanted; ++i, threads = Threads())
            Thread.Sleep(10);
        return threads;
    }

    /// <summary>Threads of the library, once their number has been the same for half a second: an engine starts some late.</summary>
    public static int SteadyThreads()
    {
        var threads = Threads();
        for (int same = 0, i = 0; same < 10 && i < 200; ++i)
        {
            Thread.Sleep(50);
            var now = Threads();
            same = now == threads ? same + 1 : 0;
            threads = now;
        }
        return threads;
    }

    /// <summary>Resident memory in kB, after a full garbage collection.</summary>
    public static long Memory()
    {
        for (var i = 0; i < 2; ++i)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        var line = File.ReadLines("/proc/self/status").First(one => one.StartsWith("VmRSS:"));
        return long.Parse(line.Split((char[])null, StringSplitOptions.RemoveEmptyEntries)[1]);
    }
}
