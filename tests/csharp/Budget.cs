// The memory budget, through the Unity runtime's class.
using System;
using System.IO;
using System.Threading;
using Sotto;
using Sotto.Interop;

static partial class Program
{
    static void Budget(string modules)
    {
        const ulong mb = 1 << 20;
        var park = Path.Combine(Path.GetTempPath(), $"sotto-geparkt-{Guid.NewGuid()}");
        Directory.CreateDirectory(park);
        using (var engine = new SottoEngine(
            SottoMode.PrioritizeCompute, vramBudget: 100 * mb, moduleDir: modules, kvSpillDir: park, kvSpillMemory: mb))
        {
            var options = $@"{{""weights"": {40 * mb}, ""kv"": {8 * mb}, ""compute"": {2 * mb}}}";
            Func<string, ulong, string> plan = (id, budget) =>
                engine.WaitDone(engine.PlanModel(id, budget, options: options, flags: SottoFlags.Private)).Json;
            var fits = plan("npc", 50 * mb);
            Expect(fits.Contains(@"""rung"":""as asked""") && fits.Contains(@"""fits"":true"), fits);
            Expect(fits.Contains($@"""bytes"":{50 * mb}"), fits);
            var refused = plan("npc", 10 * mb);
            Expect(refused.Contains(@"""fits"":false") && refused.Contains("npc needs 50 MB"), refused);
            Expect(engine.ModelsJson() == "[]", "planning loads nothing");

            foreach (var id in new[] { "first", "second" })
                engine.WaitDone(engine.LoadModel(id, options: options, flags: SottoFlags.Private));
            var told = Told(engine, s => s.BytesInUse == 100 * mb);
            Expect(told.VramBudget == 100 * mb && told.BytesPeak == 100 * mb, $"{told.VramBudget}, {told.BytesPeak}");
            Expect(told.BytesWeights == 80 * mb && told.BytesKv == 16 * mb && told.BytesCompute == 4 * mb
                && told.BytesParked == 0 && told.ModelsEvicted == 0, $"{told.BytesWeights}, {told.BytesKv}");

            engine.WaitDone(engine.LoadModel("third", options: options, flags: SottoFlags.Private));
            told = Told(engine, s => s.ModelsEvicted == 1);
            Expect(told.BytesPeak <= 100 * mb, $"the ceiling holds: {told.BytesPeak}");
            var memory = engine.MemoryJson();
            Expect(memory.Contains(@"""state"":""evicted""") && memory.Contains($@"""budget"":{100 * mb}"), memory);
            engine.WaitDone(engine.Submit(SottoOp.Chat, Ask("first", "awake"), flags: SottoFlags.Private));

            engine.SetVramBudget(60 * mb);
            told = Told(engine, s => s.ModelsEvicted == 2 && s.VramBudget == 60 * mb);
            Expect(told.BytesInUse <= 60 * mb, $"lowering holds: {told.BytesInUse}");
            var ogre = engine.LoadModel("ogre", options: $@"{{""weights"": {200 * mb}}}", flags: SottoFlags.Private);
            Throws(Native.SOTTO_ERROR_BUDGET, "a model over the budget", () => engine.WaitDone(ogre));
            Throws(Native.SOTTO_ERROR_ARGUMENT, "planning no model", () => engine.PlanModel(""));
        }
        Expect(Directory.GetFiles(park).Length == 0, "nothing parked is left behind");
        Directory.Delete(park);
    }

    static SottoStats Told(SottoEngine engine, Predicate<SottoStats> so)
    {
        var told = engine.Stats();
        for (var i = 0; i < 500 && !so(told); ++i, told = engine.Stats())
            Thread.Sleep(10);
        Expect(so(told), $"{told.BytesInUse} bytes in use, {told.ModelsEvicted} models asleep");
        return told;
    }
}
