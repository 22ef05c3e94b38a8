// Functions of C# that the library calls: only tools may lend them, and only where there is a JIT compiler.
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using Sotto;
using Sotto.Interop;

static partial class Program
{
    static readonly List<string> Started = new List<string>();

    static unsafe void Hooks()
    {
        sotto_thread_fn started = (self, name) =>
        {
            lock (Started)
                Started.Add($"{(long)self} {Utf8.Copy(name)}");
        };
        var text = Utf8.Bytes("höfling");
        fixed (byte* data = text)
        {
            var threads = new sotto_threads
            {
                struct_size = (uint)sizeof(sotto_threads),
                name = Utf8.Str(data, text),
                started = Marshal.GetFunctionPointerForDelegate(started),
                self = (void*)7,
            };
            var desc = new sotto_engine_desc
            {
                struct_size = (uint)sizeof(sotto_engine_desc),
                threads = &threads,
            };
            using (new SottoEngine(&desc))
            {
            }
        }
        GC.KeepAlive(started);
        Expect(Started.Count > 0, "a hook of C# is called");
        Expect(Started.TrueForAll(name => name.StartsWith("7 höfling")), string.Join(", ", Started));
    }

    // A lambda as a native callback needs code that is made at run time. That it fails proves that there is no JIT
    // compiler here, as there is none under IL2CPP.
    static void NoJit()
    {
        try
        {
            Hooks();
            Expect(false, "a lambda became a native callback: there is a JIT compiler");
        }
        catch (Exception error) when (error.GetType().Name == "ExecutionEngineException") // an obsolete name
        {
            Expect(true, "");
        }
    }
}
