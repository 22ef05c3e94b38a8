// Operations whose result is data, through the Unity runtime's class: the scripted model gives parts of it.
using System;
using System.Collections.Generic;
using Sotto;
using Sotto.Interop;

static partial class Program
{
    static void Data(string modules)
    {
        const string script =
            @"{""response"": {""text"": ""wohl \u00fcber""}, ""data"": [""00ff7f"", """", ""80""],"
            + @" ""tokens"": [""wohl"", "" über""]}";
        using (var engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: modules))
        {
            engine.WaitDone(engine.LoadModel("ears", options: script, flags: SottoFlags.Private));
            var bodies = new Dictionary<SottoOp, string>
            {
                [SottoOp.Transcribe] = @"{""model"": ""ears"", ""file"": ""line.wav""}",
                [SottoOp.Embed] = @"{""model"": ""ears"", ""input"": [""a"", ""b""]}",
                [SottoOp.Translate] = @"{""model"": ""ears"", ""input"": ""hello""}",
            };
            foreach (var ask in bodies)
            {
                var events = Drain(engine, engine.Submit(ask.Key, ask.Value, user: 7));
                var end = events[events.Count - 1];
                Expect(end.Status == Native.SOTTO_OK && end.User == 7, $"{ask.Key} ends well: {end.Error}");
                Expect(end.Json == @"{""text"":""wohl über""}", $"{ask.Key} has its response: {end.Json}");
                Expect(Said(events) == "wohl über", $"{ask.Key} tells its text: {Said(events)}");
                var parts = events.FindAll(e => e.Kind == SottoEventKind.Data);
                var told = parts.ConvertAll(e => BitConverter.ToString(e.Data) + " " + e.Json);
                var wanted = @"00-FF-7F {""part"":0}, 80 {""part"":2}";
                Expect(string.Join(", ", told) == wanted, $"{ask.Key} tells its data: {string.Join(", ", told)}");
                Expect(
                    events.TrueForAll(e => e.Data.Length == 0 || e.Kind == SottoEventKind.Data),
                    "other events have no data");
            }
            var request = engine.Submit(SottoOp.Embed, bodies[SottoOp.Embed], flags: SottoFlags.Private);
            var bytes = 0;
            for (var e = default(SottoEvent); !e.IsDone; bytes += e.Data.Length)
                Expect(engine.WaitEvent(request, 10000, out e), "a private request has events");
            Expect(bytes == 4, $"a private request tells its data: {bytes} bytes");

            engine.WaitDone(engine.LoadModel("npc", options: "{}", flags: SottoFlags.Private));
            var other = bodies[SottoOp.Embed].Replace("ears", "npc");
            Throws(
                Native.SOTTO_ERROR_UNSUPPORTED, "an operation that the model lacks",
                () => engine.WaitDone(engine.Submit(SottoOp.Embed, other, flags: SottoFlags.Private)));
        }
    }
}
