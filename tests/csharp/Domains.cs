// Application domains, which Unity's editor unloads whenever it reloads assemblies.
using System;
using System.IO;
using System.Runtime.Serialization.Formatters.Binary;
using Sotto;
using Sotto.Interop;

static partial class Program
{
    static void Domains(string modules)
    {
        var before = Process.Threads();
        var folder = NewFolder();
        for (var i = 0; i < 3; ++i)
        {
            var domain = AppDomain.CreateDomain("game", null, AppDomain.CurrentDomain.SetupInformation);
            domain.SetData("modules", modules);
            domain.SetData("folder", folder);
            domain.DoCallBack(Forget);
            Expect(Process.Threads() > before, "a forgotten engine has threads");
            Throws(Native.SOTTO_ERROR_ARGUMENT, "a failure in another domain", () => domain.DoCallBack(Fail));
            Throws(Native.SOTTO_ERROR_BUSY, "a store of another domain", () => SottoStore.Open(folder, "lore"));
            AppDomain.Unload(domain);
            using (var store = SottoStore.Open(folder, "lore"))
                Expect(store.Count() == i + 1, "a forgotten store is closed with its domain, and whole");
            var after = Process.ThreadsAfter(before);
            Expect(after == before, $"an engine outlives its domain: {after} threads, {before} before");
        }
        Directory.Delete(folder, true);
        using (var engine = new SottoEngine(moduleDir: modules))
            engine.WaitDone(engine.LoadModel("npc", options: "{}", flags: SottoFlags.Private));
    }

    // Runs in the other domain: creates engines, one of them disposed, and a store, an index and a guard, and forgets
    // the rest.
    static void Forget()
    {
        SottoStore.Open((string)AppDomain.CurrentDomain.GetData("folder"), "lore").Insert(new SottoStoreEntry("line"));
        new SottoIndex(4).Build();
        new SottoGuard("{}").OpenStream();
        var modules = (string)AppDomain.CurrentDomain.GetData("modules");
        var engine = new SottoEngine(moduleDir: modules);
        engine.WaitDone(engine.LoadModel("bard", options: @"{""tokens"": [""la""], ""loop"": true, ""token_ms"": 1}",
            flags: SottoFlags.Private));
        engine.Submit(SottoOp.Chat, Ask("bard", "sing"));
        new SottoEngine(moduleDir: modules).Dispose();
        new SottoEngine(moduleDir: modules).FrameBegin();
    }

    static void Fail() => new SottoEngine(device: "toaster");

    static void Serialization()
    {
        var formatter = new BinaryFormatter();
        var stream = new MemoryStream();
        formatter.Serialize(stream, new SottoException(Native.SOTTO_ERROR_BUSY, "später"));
        stream.Position = 0;
        var twin = (SottoException)formatter.Deserialize(stream);
        Expect(twin.Status == Native.SOTTO_ERROR_BUSY && twin.Message == "später", $"{twin.Status}, {twin.Message}");
    }
}
