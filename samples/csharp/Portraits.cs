// A portrait of each character of a tavern, painted between frames and kept in the save game.
//
// Compile it with the package's classes (see docs/pages/guide/first-npc-csharp.md):
//
//     mcs -unsafe -langversion:latest -out:Portraits.exe samples/csharp/Portraits.cs unity/Runtime/*.cs unity/Runtime/Native/*.cs
//     LD_LIBRARY_PATH=build/check/release/out mono Portraits.exe MODEL saves
//
// MODEL is an image model; a third argument names the folder of its backend's module. A portrait is painted once:
// its file's name has a hash of all that decides how it looks. The save game holds the files too, so that they come
// back on another machine.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Security.Cryptography;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Sotto;

static class Portraits
{
    const string Style = "oil painting, head and shoulders, warm candle light, plain dark background";
    const string Model = "painter";

    static readonly Dictionary<string, string> Cast = new Dictionary<string, string>
    {
        ["Brenna"] = "a cheerful innkeeper of fifty, red cheeks, grey braid, flour on her apron",
        ["Garrick"] = "a gruff blacksmith, burnt forearms, black beard, leather cap",
        ["Silvane"] = "a quiet herbalist, green hood, freckles, a sprig of thyme behind the ear",
        ["Pip"] = "a boy of ten, gap in his teeth, tousled straw hair, a borrowed coat",
    };

    static int Main(string[] args)
    {
        if (args.Length < 2)
        {
            Console.Error.WriteLine("usage: Portraits.exe MODEL FOLDER [MODULES]");
            return 2;
        }
        Directory.CreateDirectory(args[1]);
        using (var engine = new SottoEngine(moduleDir: args.Length > 2 ? args[2] : ""))
        {
            var all = PaintAll(engine, args[0], args[1]);
            while (!all.IsCompleted) // the game's loop
            {
                engine.FrameBegin(1, 16666667);
                engine.Drain(); // code after `await` runs in here
                engine.FrameEnd();
                Thread.Sleep(16); // stands in for presenting the frame
            }
            if (all.Exception != null)
                Console.Error.WriteLine(all.Exception.InnerException.Message);
            return all.Exception == null ? 0 : 1;
        }
    }

    static async Task PaintAll(SottoEngine engine, string model, string folder)
    {
        await engine.LoadModelAsync(new SottoModel(Model, model));
        var slot = Path.Combine(folder, "slot1.sotto");
        var portraits = Requests(folder);
        var files = portraits.ToDictionary(one => Path.GetFileName(one.Path), one => one.Path);
        if (File.Exists(slot))
            await Restore(engine, slot, files);
        foreach (var (name, path, request) in portraits)
        {
            var isMissing = !File.Exists(path);
            if (isMissing)
                Save(path, await engine.GenerateImageAsync(request));
            Console.WriteLine($"{name}: {path}{(isMissing ? "" : ", from an earlier evening")}");
        }
        await engine.SaveGameAsync(slot, files);
    }

    static List<(string Name, string Path, SottoImageRequest Request)> Requests(string folder)
    {
        var requests = new List<(string, string, SottoImageRequest)>();
        foreach (var one in Cast)
        {
            var request = new SottoImageRequest(Model, $"portrait of {one.Value}, {Style}")
            {
                NegativePrompt = "text, frame, several people", Width = 256, Height = 256,
                Seed = 100 + requests.Count, // a character keeps their face when the game is installed again
            };
            var path = Path.Combine(folder, $"{one.Key.ToLowerInvariant()}-{Mark(request)}.png");
            requests.Add((one.Key, path, request));
        }
        return requests;
    }

    static async Task Restore(SottoEngine engine, string slot, Dictionary<string, string> files)
    {
        try
        {
            await engine.RestoreGameAsync(slot, files);
        }
        catch (SottoException)
        {
            // a save game of other portraits
        }
    }

    // The same for the same request alone.
    static string Mark(SottoImageRequest request)
    {
        using (var sha = SHA256.Create())
        {
            var text = $"{request.Prompt}|{request.NegativePrompt}|{request.Width}x{request.Height}|{request.Seed}";
            var hash = sha.ComputeHash(Encoding.UTF8.GetBytes(text));
            return BitConverter.ToString(hash, 0, 6).Replace("-", "").ToLowerInvariant();
        }
    }

    // A game that ends now leaves no half of a file.
    static void Save(string path, SottoImage image)
    {
        File.WriteAllBytes(path + ".part", image.Data);
        File.Move(path + ".part", path);
    }
}
