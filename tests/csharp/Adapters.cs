// LoRA adapters, through the Unity runtime's class: the scripted model says which adapters a request uses.
using System;
using Sotto;
using Sotto.Interop;

static partial class Program
{
    static void Adapters(string modules)
    {
        using (var engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: modules))
        {
            const string script = @"{""adapters"": true, ""tokens"": [""a"", ""b""]}";
            engine.WaitDone(engine.LoadModel("npc", options: script, flags: SottoFlags.Private));
            var ask = new SottoRequest("npc") { Flags = SottoFlags.Private }.User("ab");
            Func<string> says = () => engine.WaitDone(engine.Submit(ask)).Json;

            engine.WaitDone(engine.LoadAdapter("npc", "house", scale: 0.5f, flags: SottoFlags.Private));
            engine.WaitDone(engine.LoadAdapter("npc", "pirate", "pirate", flags: SottoFlags.Private));
            Expect(says().Contains("<house*0.5>"), says());
            ask.Lora("pirate", -2);
            Expect(says().Contains("<pirate*-2>") && !says().Contains("house"), says());
            ask.ClearLora().Lora("pirate").Lora("default", 0.25);
            Expect(says().Contains("<pirate*1>") && says().Contains("<house*0.25>"), says());
            var before = ask.ToString();
            Throws(Native.SOTTO_ERROR_ARGUMENT, "a scale of NaN", () => ask.Lora("poet", double.NaN));
            Throws(Native.SOTTO_ERROR_ARGUMENT, "a message that is null", () => ask.MessageJson(null));
            Expect(ask.ToString() == before, ask.ToString());
            ask.ClearLora().SetJson("lora", "[]");
            Expect(!says().Contains("<"), says());
            ask.Remove("lora");

            engine.WaitDone(engine.SetAdapterScale("npc", 0, flags: SottoFlags.Private));
            Expect(!says().Contains("house"), says());
            engine.WaitDone(engine.SetAdapterScale("npc", 3, flags: SottoFlags.Private));
            Expect(says().Contains("<house*3>"), says());
            engine.WaitDone(engine.UnloadAdapter("npc", flags: SottoFlags.Private));
            Expect(!says().Contains("<"), says());

            Throws(Native.SOTTO_ERROR_ARGUMENT, "a scale of 0", () => engine.LoadAdapter("npc", "house", scale: 0));
            Throws(
                Native.SOTTO_ERROR_ARGUMENT, "a scale of NaN",
                () => engine.LoadAdapter("npc", "house", scale: float.NaN));
            Throws(Native.SOTTO_ERROR_ARGUMENT, "no path", () => engine.LoadAdapter("npc", ""));
            Throws(
                Native.SOTTO_ERROR_NOT_FOUND, "an adapter that is not there",
                () => engine.WaitDone(engine.UnloadAdapter("npc", "poet", SottoFlags.Private)));
            Throws(
                Native.SOTTO_ERROR_NOT_FOUND, "a model that is not there",
                () => engine.WaitDone(engine.SetAdapterScale("ogre", 1, flags: SottoFlags.Private)));
        }
    }
}
