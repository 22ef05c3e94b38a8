// Cost of draining 16 streams in a frame: time, and managed bytes, which must equal those of the strings.
//
//   Drain.dll LIBRARIES FRAMES: prints one JSON object.
using System;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Threading;
using Sotto;

static class Drain
{
    const int Streams = 16, WarmUp = 120, Quiet = 60;
    const float Pace = 10; // tokens per second and stream: 2.7 texts in a frame
    static readonly TimeSpan Period = TimeSpan.FromTicks(TimeSpan.TicksPerSecond / 60);
    static readonly SottoEvent[] Taken = new SottoEvent[4096];
    static int _taken;

    static int Main(string[] args)
    {
        CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
        var frames = int.Parse(args[1]);
        using (var engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: Path.Combine(args[0], "scripted")))
        {
            const string song = @"{""tokens"": [""la "", ""die "", ""grüne "", ""夜 ""], ""loop"": true, ""streams"": 16}";
            engine.WaitDone(engine.LoadModel("bard", options: song, flags: SottoFlags.Private));
            var asked = new ulong[Streams];
            for (var i = 0; i < Streams; ++i)
                asked[i] = engine.Submit(SottoOp.Chat, Question, targetTps: Pace);
            Action<SottoEvent> keep = Keep;
            var speaking = Measure(engine, keep, WarmUp, frames);
            foreach (var one in asked)
                engine.Cancel(one);
            var quiet = Measure(engine, keep, WarmUp, Quiet);
            Console.WriteLine($"{{\"streams\": {Streams}, {speaking}, \"without_streams\": {{{quiet}}}}}");
        }
        return 0;
    }

    const string Question = @"{""model"": ""bard"", ""messages"": [{""role"": ""user"", ""content"": ""sing""}]}";

    static void Keep(SottoEvent e) => Taken[_taken++] = e;

    static string Measure(SottoEngine engine, Action<SottoEvent> keep, int warmUp, int frames)
    {
        var times = new double[frames];
        long managed = 0, handedOut = 0, bytesWithoutText = 0;
        int texts = 0, without = 0;
        for (var frame = -warmUp; frame < frames; ++frame)
        {
            var began = Stopwatch.GetTimestamp();
            engine.FrameBegin(periodNs: (ulong)Period.Ticks * 100);
            _taken = 0;
            var before = GC.GetAllocatedBytesForCurrentThread();
            var clock = Stopwatch.GetTimestamp();
            engine.Drain(keep);
            var ticks = Stopwatch.GetTimestamp() - clock;
            var bytes = GC.GetAllocatedBytesForCurrentThread() - before;
            engine.FrameEnd();
            if (frame >= 0)
            {
                var strings = StringBytes();
                times[frame] = ticks * 1e6 / Stopwatch.Frequency;
                managed += bytes;
                handedOut += strings;
                texts += strings > 0 ? _taken : 0;
                without += strings > 0 ? 0 : 1;
                bytesWithoutText += strings > 0 ? 0 : bytes;
            }
            var left = Period - Stopwatch.GetElapsedTime(began);
            if (left > TimeSpan.Zero)
                Thread.Sleep(left);
        }
        Array.Sort(times);
        return $"\"frames\": {frames}, \"texts\": {texts}, \"managed_bytes\": {managed}, \"string_bytes\": {handedOut}, "
            + $"\"frames_without_text\": {without}, \"bytes_without_text\": {bytesWithoutText}, "
            + $"\"p50_us\": {At(times, 0.5)}, \"p99_us\": {At(times, 0.99)}";
    }

    static string At(double[] sorted, double share) => sorted[(int)(share * (sorted.Length - 1))].ToString("f2");

    // The size of the strings of the events that were taken, as .NET lays them out on 64-bit processors.
    static long StringBytes()
    {
        long sum = 0;
        for (var i = 0; i < _taken; ++i)
            sum += Size(Taken[i].Text) + Size(Taken[i].Json) + Size(Taken[i].Error);
        return sum;
    }

    // Header, type, length, UTF-16 and a final zero, in words of 8 bytes. The empty string is shared.
    static long Size(string text) => string.IsNullOrEmpty(text) ? 0 : (8 + 8 + 4 + 2 * (text.Length + 1) + 7) / 8 * 8;
}
