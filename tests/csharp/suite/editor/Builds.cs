// The build step: what it refuses, places and removes, also after a build that failed.
using System.IO;
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
