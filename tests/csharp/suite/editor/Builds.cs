// The build step: what it refuses, places and removes, also after a build that failed.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Doubles;
using Sotto;
using Sotto.Editor;
using UnityEditor;
using UnityEditor.Build;
using UnityEditor.Build.Reporting;

static partial class EditorSuite
{
    // A project that uses the house model. Returns the folder of the package's libraries.
    static string HouseProject()
    {
        var plugins = Path.Combine(_temp, "package", "Plugins", "Linux", "x86_64");
        Directory.CreateDirectory(plugins);
        EditorPlayer.Package = Path.Combine(_temp, "package");
        Player.Data = Path.Combine(_temp, "Assets");
        var settings = Settings();
        settings.models.Clear();
        settings.defaultModel = SottoSettings.House;
        EditorPlayer.Assets["Assets/SottoSettings.asset"] = settings;
        return plugins;
    }

    // Unity reloads scripts after a build that failed: statics are gone, and so must be its copies.
    static void FailedBuilds()
    {
        var plugins = HouseProject();
        var step = new SottoBuildStep();
        var report = new BuildReport(BuildTarget.StandaloneLinux64);
        var placed = Path.Combine(Player.StreamingAssets, "Sotto", "house.gguf");
        step.OnPreprocessBuild(report);
        EditorPlayer.IsBuilding = true;
        EditorPlayer.LoadScripts();
        Expect(File.Exists(placed), "a build under way keeps its copies");
        EditorPlayer.IsBuilding = false;
        EditorPlayer.LoadScripts();
        Expect(!File.Exists(placed) && EditorPlayer.Session.Count == 0, "scripts are loaded after a failed build");
        step.OnPreprocessBuild(report);
        EditorPlayer.Quit();
        Expect(!File.Exists(placed), "the editor quits after a failed build");
        step.OnPreprocessBuild(report);
        File.WriteAllText(placed, "the developer's own");
        Player.Log.Clear();
        EditorPlayer.LoadScripts();
        Expect(File.Exists(placed), "a file that replaced the copy stays");
        step.OnPreprocessBuild(report);
        Expect(
            Player.Log.Exists(line => line.StartsWith("warning: ") && line.Contains($"'{placed}'")
                && line.Contains(Path.Combine(plugins, "house.gguf"))),
            "both paths: " + string.Join("\n", Player.Log));
        step.OnPostprocessBuild(report);
        Expect(File.ReadAllText(placed) == "the developer's own", "it still stays");
        File.Delete(placed);
        File.WriteAllText(Path.GetDirectoryName(placed) + ".txt", "");
        Directory.Delete(Path.GetDirectoryName(placed), true);
        File.Move(Path.GetDirectoryName(placed) + ".txt", Path.GetDirectoryName(placed));
        try
        {
            step.OnPreprocessBuild(report);
            Expect(false, "a copy that fails");
        }
        catch (BuildFailedException refused)
        {
            Expect(refused.Message.Contains(placed) && refused.Message.Contains("disk space"), refused.Message);
        }
        File.Delete(Path.GetDirectoryName(placed));
    }

    static void BuildStep()
    {
        var plugins = HouseProject();
        var step = new SottoBuildStep();
        var report = new BuildReport(BuildTarget.StandaloneLinux64);
        try
        {
            step.OnPreprocessBuild(report);
            Expect(false, "a build without libraries");
        }
        catch (BuildFailedException refused)
        {
            Expect(refused.Message.Contains("libsotto.so") && refused.Message.Contains("house.gguf"), refused.Message);
        }
        foreach (var name in new[] { "libsotto.so", "sotto_llama-native.so", "house.gguf" })
            File.Copy(Path.Combine(_libraries, name), Path.Combine(plugins, name));
        var placed = Path.Combine(Player.StreamingAssets, "Sotto", "house.gguf");
        for (var i = 0; i < 2; ++i)
        {
            step.OnPreprocessBuild(report);
            Expect(File.Exists(placed), "the model is placed");
            step.OnPreprocessBuild(report); // the first build failed elsewhere
            Expect(File.Exists(placed), "the model is placed again");
            step.OnPostprocessBuild(report);
            Expect(!File.Exists(placed), "the model is removed");
        }
        Expect(Player.Log.Exists(line => line.StartsWith("warning: ") && line.Contains("SOTTO_TIERS")), "it warns");
    }

    // Which of the files that it can leave out a player for Linux contains: libraries, then StreamingAssets.
    static string Contained(SottoBuildStep step)
    {
        var report = new BuildReport(BuildTarget.StandaloneLinux64);
        step.OnPreprocessBuild(report);
        var files = PluginImporter.GetImporters(BuildTarget.StandaloneLinux64)
            .Where(one => one.ShouldIncludeInBuild()).Select(one => Path.GetFileName(one.assetPath))
            .OrderBy(name => name, StringComparer.Ordinal)
            .Concat(Directory.GetFiles(Path.Combine(Player.StreamingAssets, "Sotto")).Select(Path.GetFileName)
                .Where(name => name == "house.gguf" || name == "matting.onnx").OrderBy(name => name, StringComparer.Ordinal));
        var contained = string.Join(" ", files);
        step.OnPostprocessBuild(report);
        return contained;
    }

    static void BuildsThatLeaveOut()
    {
        var plugins = HouseProject();
        foreach (var name in new[]
        {
            "libsotto.so", "sotto_llama-native.so", "sotto_llama_vulkan-native.so", "sotto_onnx.so",
            "sotto_diffusion-native.so", "libsotto_unity.so", "house.gguf", "matting.onnx",
        })
            File.WriteAllText(Path.Combine(plugins, name), name);
        var settings = (SottoSettings)EditorPlayer.Assets["Assets/SottoSettings.asset"];
        var step = new SottoBuildStep();
        const string all = "libsotto.so libsotto_unity.so sotto_diffusion-native.so sotto_llama-native.so "
            + "sotto_llama_vulkan-native.so sotto_onnx.so house.gguf matting.onnx";
        Expect(Contained(step) == all, "nothing is left out: " + Contained(step));
        foreach (var (name, files) in new[]
        {
            ("onnx", new[] { "sotto_onnx.so", "matting.onnx" }), ("matting", new[] { "matting.onnx" }),
            ("diffusion", new[] { "sotto_diffusion-native.so" }),
            ("llama_vulkan", new[] { "sotto_llama_vulkan-native.so" }), ("proxy", new string[0]),
        })
        {
            settings.leaveOut = new List<string> { name };
            var wanted = string.Join(" ", all.Split(' ').Except(files));
            var contained = Contained(step);
            Expect(contained == wanted, $"{name} is left out: {contained}");
        }
        settings.leaveOut.Clear();
        Expect(Contained(step) == all, "a later build contains everything again");
        foreach (var (name, reason) in new[]
        {
            ("onyx", "invalid Leave Out 'onyx' of settings 'Game': expected one of llama, llama_cuda,"),
            ("llama", "'sotto_llama*' is missing"), ("house", "model 'sotto/house' is used, and Leave Out"),
        })
        {
            settings.leaveOut = new List<string> { name, "llama_vulkan" };
            try
            {
                step.OnPreprocessBuild(new BuildReport(BuildTarget.StandaloneLinux64));
                Expect(false, $"a build that leaves out {name}");
            }
            catch (BuildFailedException refused)
            {
                Expect(refused.Message.Contains(reason), refused.Message);
            }
        }
        Directory.Delete(plugins, true);
    }

    static void BuildsOfImages()
    {
        var plugins = HouseProject();
        foreach (var name in new[] { "libsotto.so", "sotto_llama-x.so", "sotto_onnx.so", "house.gguf", "matting.onnx" })
            File.WriteAllText(Path.Combine(plugins, name), name);
        var settings = (SottoSettings)EditorPlayer.Assets["Assets/SottoSettings.asset"];
        var streaming = Path.Combine(Player.StreamingAssets, "Sotto");
        Directory.CreateDirectory(streaming);
        File.WriteAllText(Path.Combine(streaming, "isnet.onnx"), "");
        File.WriteAllText(Path.Combine(streaming, "painter.safetensors"), "");
        SottoBuildPlan Plan() => new SottoBuildPlan(
            BuildTarget.StandaloneLinux64, EditorPlayer.Package, Path.Combine(_temp, "Assets"), new[] { settings },
            new string[0]);
        settings.models.Add(new SottoModelEntry { id = "cutter", file = "isnet.onnx" });
        settings.models.Add(new SottoModelEntry { id = "painter", file = "painter.safetensors" });
        settings.models.Add(new SottoModelEntry { id = SottoSettings.Matting });
        var plan = Plan();
        Expect(plan.Problems.Count == 0, string.Join("\n", plan.Problems));
        Expect(
            plan.Warnings.Count == 1 && plan.Warnings[0].Contains("'painter' needs the module 'sotto_diffusion'"),
            "a module that the platform lacks: " + string.Join("\n", plan.Warnings));
        settings.leaveOut.Add("onnx");
        plan = Plan();
        Expect(
            plan.Problems.Count == 2 && plan.Problems[0].Contains("'cutter' needs the module 'sotto_onnx', which Leave")
                && plan.Problems[1].Contains("'sotto/matting' needs the module 'sotto_onnx'"),
            "a module that is left out: " + string.Join("\n", plan.Problems));
        settings.leaveOut[0] = "matting";
        plan = Plan();
        Expect(
            plan.Problems.Count == 1 && plan.Problems[0].Contains("'sotto/matting' is used, and Leave Out"),
            "a model that is left out: " + string.Join("\n", plan.Problems));
        settings.leaveOut.Clear();
        File.Delete(Path.Combine(plugins, "matting.onnx"));
        plan = Plan();
        Expect(
            plan.Problems.Count == 1 && plan.Problems[0].Contains("model 'sotto/matting' lacks its file"),
            "a model that is missing: " + string.Join("\n", plan.Problems));
        settings.models.Clear();
        Expect(Plan().Problems.Count == 0, "a package without the matting model");
        Directory.Delete(streaming, true);
        Directory.Delete(plugins, true);
    }

    static void BuildsOfMemories()
    {
        var settings = Settings();
        settings.models.Clear();
        settings.defaultModel = SottoSettings.House;
        SottoBuildPlan Plan() => new SottoBuildPlan(
            BuildTarget.StandaloneLinux64, Path.Combine(_temp, "none"), Path.Combine(_temp, "Assets"),
            new[] { settings }, new string[0]);
        bool Has(string part) => Plan().Problems.Exists(problem => problem.Contains(part));
        settings.guardrails = new UnityEngine.TextAsset("{\"input\": []}");
        Expect(!Has("guardrails") && !Has("embedding"), "nothing is wrong");
        settings.embeddingModel = "minilm";
        Expect(Has("embedding model 'minilm' of settings 'Game'"), "an embedding model that is not in the list");
        settings.guardrails = new UnityEngine.TextAsset("{\"input\": [{\"type\": \"oracle\"}]}") { name = "Rules" };
        Expect(Has("asset 'Rules': invalid input[0].type 'oracle'"), string.Join("\n", Plan().Problems));
    }
}
