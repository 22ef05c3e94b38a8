// The game of the reload tests: an engine, the house model, and four characters that speak.
using System;
using System.IO;
using System.Threading;
using Sotto;

/// <summary>A game with four live streams. Dispose it, or forget it.</summary>
public sealed class Game : IDisposable
{
    const int Streams = 4;
    const string Endless = @", ""max_tokens"": 100000, ""ignore_eos"": true";
    readonly SottoEngine _engine;

    public Game(string libraries)
    {
        _engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: libraries);
        _engine.WaitDone(_engine.LoadModel("sotto/house", options: @"{""parallel"": 4}", flags: SottoFlags.Private));
    }

    /// <summary>Asks four endless questions; returns once each is being answered.</summary>
    public void BeginStreams()
    {
        var asked = new ulong[Streams];
        for (var i = 0; i < Streams; ++i)
            asked[i] = _engine.Submit(SottoOp.Chat, Question(i));
        for (var speaking = 0; speaking < Streams;)
        {
            if (!_engine.Wait(10000))
                throw new InvalidOperationException("no character speaks");
            while (_engine.TryNextEvent(out var e))
            {
                if (e.IsDone)
                    throw new InvalidOperationException($"an answer ended: {e.Status} {e.Error}");
                var at = Array.IndexOf(asked, e.Request);
                if (at < 0 || e.Kind != SottoEventKind.Text)
                    continue;
                asked[at] = 0;
                ++speaking;
            }
        }
    }

    public void Dispose() => _engine.Dispose();

    static string Question(int i) =>
        $@"{{""model"": ""sotto/house"", ""messages"": [{{""role"": ""user"", ""content"": ""Who are you, {i}?""}}]{Endless}}}";
}
