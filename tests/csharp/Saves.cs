// Save games through the Unity runtime's class: all conversations of an engine in one file.
using System.Collections.Generic;
using System.IO;
using Sotto;
using Sotto.Interop;

static partial class Program
{
    static void Saves(string modules)
    {
        var folder = NewFolder();
        var path = Path.Combine(folder, "stand é.sotto");
        using (var engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: modules))
        {
            engine.WaitDone(engine.LoadModel("npc", options: "{}", flags: SottoFlags.Private));
            foreach (var id in new[] { "mara", "夜" })
            {
                Drain(engine, SottoSession.Open(engine, id, "Name: " + id, "npc").Opening);
                Drain(engine, new SottoSession(engine, id).Say("Guten Abend, " + id));
            }
            var saved = engine.WaitDone(engine.SaveGame(path, SottoFlags.Private)).Json;
            Expect(saved.Contains("\"sessions\":2") && new FileInfo(path).Length > 0, $"a game is saved: {saved}");
            var bad = engine.SaveGame(folder, SottoFlags.Private);
            Throws(Native.SOTTO_ERROR_ARGUMENT, "a folder as a file", () => engine.WaitDone(bad));
            Throws(Native.SOTTO_ERROR_ARGUMENT, "no path", () => engine.WaitDone(engine.SaveGame(null, SottoFlags.Private)));
        }
        using (var engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: modules))
        {
            engine.WaitDone(engine.LoadModel("npc", options: "{}", flags: SottoFlags.Private));
            var answer = engine.RestoreGameAsync(path);
            for (var i = 0; i < 5000 && !answer.IsDone; ++i)
                if (engine.Drain() == 0)
                    System.Threading.Thread.Sleep(1);
            Expect(answer.Status == Native.SOTTO_OK && answer.Json.Contains("\"sessions\":2"), $"restored: {answer.Json}");
            var read = Drain(engine, new SottoSession(engine, "夜").Read());
            Expect(read[read.Count - 1].Json.Contains("Guten Abend, 夜"), "a conversation is whole");
            var asked = engine.RestoreGame(path + "x", SottoFlags.Private);
            Throws(Native.SOTTO_ERROR_NOT_FOUND, "no file", () => engine.WaitDone(asked));
            var bytes = File.ReadAllBytes(path);
            bytes[bytes.Length / 2] ^= 1;
            File.WriteAllBytes(path, bytes);
            var damaged = engine.RestoreGame(path, SottoFlags.Private);
            Throws(Native.SOTTO_ERROR_MODEL, "a damaged file", () => engine.WaitDone(damaged));
            read = Drain(engine, new SottoSession(engine, "mara").Read());
            Expect(read[read.Count - 1].Json.Contains("Guten Abend, mara"), "and changes nothing");
        }
        SavesWithFiles(modules, folder);
        Directory.Delete(folder, true);
    }

    static void SavesWithFiles(string modules, string folder)
    {
        string path = Path.Combine(folder, "slot"), copy = Path.Combine(folder, "lore.copy");
        var quests = Path.Combine(folder, "quests \"1\".json");
        File.WriteAllText(quests, "{}");
        var files = new Dictionary<string, string> { ["lore"] = copy, ["quests"] = quests };
        using var engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: modules);
        using var lore = SottoStore.Open(folder, "lore", 2);
        lore.Insert(new SottoStoreEntry { Value = "before", Embedding = new[] { 1f, 0f } });
        lore.Backup(copy);
        var saved = engine.WaitDone(engine.SaveGame(path, files, SottoFlags.Private)).Json;
        Expect(saved.Contains("\"files\":2"), $"files are saved: {saved}");
        lore.Insert(new SottoStoreEntry { Value = "after" });
        File.Delete(copy);
        File.Delete(quests);
        engine.WaitDone(engine.RestoreGame(path, files, SottoFlags.Private));
        lore.RestoreAsync(copy).Wait();
        Expect(lore.Count() == 1 && lore.List(null, true)[0].Embedding[0] == 1f, "a store is as it was");
        Expect(File.ReadAllText(quests) == "{}", "and so is a file");
        files["missing"] = copy + ".missing";
        var lacks = engine.RestoreGame(path, files, SottoFlags.Private);
        Throws(Native.SOTTO_ERROR_NOT_FOUND, "a file that was not saved", () => engine.WaitDone(lacks));
        Throws(Native.SOTTO_ERROR_STATE, "no backup", () => lore.Restore(quests));
        Throws(Native.SOTTO_ERROR_NOT_FOUND, "no file", () => lore.Restore(copy + "x"));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no path", () => lore.Backup(null));
        Expect(lore.Count() == 1, "and nothing changes");
    }
}
