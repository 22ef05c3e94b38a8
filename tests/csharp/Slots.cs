// Slots by number and model cards, through the Unity runtime's class.
using System;
using System.IO;
using Sotto;
using Sotto.Interop;

static partial class Program
{
    static void Slots(string modules)
    {
        var path = Path.Combine(Path.GetTempPath(), $"sotto-büttel-{Guid.NewGuid()}.slot");
        using (var engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: modules))
        {
            const string script = @"{""slots"": true, ""streams"": 2, ""context"": 512, ""fingerprint"": ""bard"","
                + @" ""tokens"": [""la ""], ""loop"": true, ""token_ms"": 1}";
            engine.WaitDone(engine.LoadModel("bard", options: script, flags: SottoFlags.Private));
            var singing = engine.Submit(SottoOp.Chat, Ask("bard", "sing of two"));
            while (!engine.TryNextEvent(out var e) || e.Kind != SottoEventKind.Text)
                engine.Wait(10);
            var slots = engine.Slots("bard");
            Expect(slots.Length == 2 && slots[0].Id == 0 && slots[1].Id == 1, $"{slots.Length} slots");
            Expect(slots[0].IsProcessing && slots[0].Request == singing, $"request {slots[0].Request} has slot 0");
            Expect(!slots[1].IsProcessing && slots[1].Request == 0, "slot 1 is free");
            Expect(slots[1].Session == null && slots[1].Context == 512, $"{slots[1].Context} tokens fit");
            Throws(Native.SOTTO_ERROR_BUSY, "a slot in use", () => engine.SaveSlot("bard", 0, path));
            engine.Cancel(singing);
            Drain(engine, singing);

            var held = engine.Slots("bard")[0].Tokens;
            var saved = engine.SaveSlot("bard", 0, path);
            Expect(held > 0 && saved.Tokens == held && saved.Bytes == new FileInfo(path).Length,
                $"{saved.Tokens} of {held} tokens in {saved.Bytes} bytes");
            engine.EraseSlot("bard", 0);
            Expect(engine.Slots("bard")[0].Tokens == 0, "an erased slot is empty");
            var restored = engine.RestoreSlot("bard", 1, path);
            Expect(restored.Tokens == held && restored.Bytes == saved.Bytes, $"{restored.Tokens} come back");
            Expect(engine.Slots("bard")[1].Tokens == held, "the slot holds them");

            Throws(Native.SOTTO_ERROR_ARGUMENT, "no such slot", () => engine.EraseSlot("bard", 2));
            Throws(Native.SOTTO_ERROR_ARGUMENT, "a negative slot", () => engine.EraseSlot("bard", -1));
            Throws(Native.SOTTO_ERROR_ARGUMENT, "no path", () => engine.SaveSlot("bard", 1, null));
            Throws(Native.SOTTO_ERROR_NOT_FOUND, "no such file", () => engine.RestoreSlot("bard", 0, path + "x"));
            Throws(Native.SOTTO_ERROR_NOT_FOUND, "no such model", () => engine.Slots("ogre"));
            engine.WaitDone(engine.LoadModel("npc", options: "{}", flags: SottoFlags.Private));
            Throws(Native.SOTTO_ERROR_UNSUPPORTED, "slots without numbers", () => engine.Slots("npc"));
            Throws(Native.SOTTO_ERROR_STATE, "a response that is none", () => SottoSlot.Parse("[]"));
        }
        File.Delete(path);
    }

    static void ModelCards(string modules)
    {
        using (var engine = new SottoEngine(moduleDir: modules))
        {
            Throws(Native.SOTTO_ERROR_NOT_FOUND, "no model", () => engine.ModelInfo("büttel"));
            engine.WaitDone(engine.LoadModel("npc", options: "{}", flags: SottoFlags.Private));
            engine.WaitDone(engine.LoadModel("büttel", options: @"{""streams"": 3, ""context"": 64}", flags: SottoFlags.Private));
            var card = engine.ModelInfo("büttel");
            Expect(card.Id == "büttel" && card.Backend == "scripted", card.Json);
            Expect(card.Context == 64 && card.Streams == 3, $"{card.Streams} streams of {card.Context} tokens");
            Expect(card.Architecture == "scripted", $"its backend describes it: {card.Architecture}");
            Expect(card.Metadata.Count == 0 && card.ChatTemplates.Count == 0, "the script has no file");
            Throws(Native.SOTTO_ERROR_NOT_FOUND, "another model", () => engine.ModelInfo("ogre"));
            Throws(Native.SOTTO_ERROR_NOT_FOUND, "null for an id", () => engine.ModelInfo(null));
        }
    }

    static void HouseCard(SottoEngine engine)
    {
        var card = engine.ModelInfo(House);
        Expect(card.Architecture == "llama" && card.Layers > 0 && card.Parameters > 1000000, card.Json);
        Expect(card.TrainedContext > 0 && card.EmbeddingLength > 0 && card.Quantization != "", card.Json);
        Expect(card.Metadata["general.architecture"] == "llama", "metadata are told");
        Expect(card.ChatTemplates["default"].Contains("{%"), "so is the chat template");
        Expect(engine.Slots(House).Length == card.Streams, $"{card.Streams} slots");
    }
}
