// Errors of the native library, and the house model through the components.
using System;
using System.Collections.Generic;
using System.IO;
using Doubles;
using Sotto;
using Sotto.Interop;
using UnityEngine;

static partial class Suite
{
    static void LibraryErrors()
    {
        Same(Library.Mismatch(Native.SOTTO_VERSION), "");
        Same(Library.Mismatch("0.1.99"), "");
        foreach (var other in new[] { "0.2.0", "1.1.0", "0.11.0", "", "x", "0" })
            Expect(
                Library.Mismatch(other).Contains($"'{other}'") && Library.Mismatch(other).Contains("restart the editor"),
                Library.Mismatch(other));
        var missing = Library.Explain(new DllNotFoundException("sotto"));
        Expect(missing.Status == Native.SOTTO_ERROR_NOT_FOUND && missing.Message.Contains("Plugins"), missing.Message);
        var wrong = Library.Explain(new BadImageFormatException("sotto"));
        Expect(wrong.Status == Native.SOTTO_ERROR_UNSUPPORTED && wrong.Message.Contains("processor"), wrong.Message);
        var old = Library.Explain(new EntryPointNotFoundException("sotto_version"));
        Expect(old.Status == Native.SOTTO_ERROR_UNSUPPORTED && old.Message.Contains("sotto_version"), old.Message);
        Same(Library.Explain(new InvalidOperationException()), null);
        Same(SottoEngine.Version, Native.SOTTO_VERSION);
    }

    static void HouseModel(string libraries)
    {
        var settings = ScriptableObject.CreateInstance<SottoSettings>();
        settings.mode = SottoMode.PrioritizeCompute;
        settings.targetTps = 0;
        var sheet = ScriptableObject.CreateInstance<SottoSheet>();
        sheet.fullName = "Mara";
        sheet.role = "innkeeper";
        sheet.manner = "cheerful";
        sheet.prices = new List<string> { "a bed for the night: 9 copper" };
        var folder = Path.Combine(_temp, SottoFiles.Folder); // as the build step places it
        Directory.CreateDirectory(folder);
        File.Copy(Path.Combine(libraries, SottoFiles.HouseFile), Path.Combine(folder, SottoFiles.HouseFile));
        var mara = NewCharacter(settings, sheet);
        mara.temperature = 0;
        var answer = mara.SayAsync("How much is a bed for the night?");
        Expect(Player.FramesUntil(() => answer.IsDone, 60), "the house model answers");
        Expect(answer.Status == 0 && answer.Text.Contains("9 copper"), answer.Error + answer.Text);
        sheet.decides = true;
        mara.RefreshSheet();
        var decision = mara.SayAsync("How much is a bed for the night?");
        Expect(Player.FramesUntil(() => decision.IsDone, 60), "it decides");
        var emotion = SottoJson.Field(decision.Text, "emotion", out var complete);
        Expect(complete && Array.IndexOf(SottoSheet.Moods, emotion) >= 0, decision.Error + decision.Text);
        RemembersLongLines(mara.Runtime.Engine, Path.Combine(libraries, SottoFiles.HouseFile));
        Console.WriteLine($"the house model: {answer.Text} {decision.Text}");
    }

    // A line is longer than the context of the embedding model, which is the house model.
    static void RemembersLongLines(SottoEngine engine, string file)
    {
        const string options = "{\"pooling\": \"mean\", \"context\": 64}";
        engine.WaitDone(engine.LoadModel("embeds", file, options: options, flags: SottoFlags.Private));
        var dim = engine.Embed("embeds", "one")[0].Length;
        var line = string.Join(" ", Array.ConvertAll(new int[200], one => "tale"));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "set truncate", () => engine.Embed("embeds", line));
        using (var store = SottoStore.Open(Path.Combine(_temp, "long"), "lines", dim))
        {
            var memory = new SottoCharacterMemory(store, "Mara", engine, "embeds");
            memory.Tell(line);
            Same(memory.Recall(line).ConvertAll(one => one.Text)[0], line);
        }
    }
}
