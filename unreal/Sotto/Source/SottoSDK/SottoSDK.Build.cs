using System;
using System.Collections.Generic;
using System.IO;
using System.Text.RegularExpressions;
using EpicGames.Core;
using UnrealBuildTool;

/// <summary>The native library: headers, and the files that a game ships.</summary>
/// <remarks>
/// The plugin loads the library at run time and links nothing. On Windows, a game's own C++ may call the C
/// functions too: through the import library, whose DLL is loaded with the first call.
/// </remarks>
public class SottoSDK : ModuleRules
{
    /// <summary>What the project setting Leave Out may name: modules by their backend, then models.</summary>
    private static readonly string[] Names =
    {
        "llama", "llama_cuda", "llama_vulkan", "proxy", "onnx", "diffusion", "diffusion_vulkan", "house", "matting"
    };

    public SottoSDK(ReadOnlyTargetRules Target) : base(Target)
    {
        Type = ModuleType.External;
        PublicSystemIncludePaths.Add(Path.Combine(ModuleDirectory, "include"));
        if (Target.Platform == UnrealTargetPlatform.Win64)
        {
            string Folder = Path.Combine(ModuleDirectory, "lib", "Win64");
            string Import = Path.Combine(Folder, "sotto.lib");
            if (File.Exists(Import)) // else the plugin still compiles, and says at run time what it lacks
            {
                PublicAdditionalLibraries.Add(Import);
                PublicDelayLoadDLLs.Add("sotto.dll");
            }
            Ship(Folder, "*.dll", "*.gguf", "*.onnx");
        }
        else if (Target.Platform == UnrealTargetPlatform.Linux)
        {
            // libonnxruntime.so.1: a studio puts it there, for the module sotto_onnx
            Ship(Path.Combine(ModuleDirectory, "lib", "Linux"), "*.so", "*.so.*", "*.gguf", "*.onnx");
        }
        else if (Target.Platform == UnrealTargetPlatform.Android)
        {
            string Rules = Path.Combine(ModuleDirectory, "SottoSDK_APL.xml");
            AdditionalPropertiesForReceipt.Add("AndroidPlugin", Rules);
        }
    }

    /// <summary>Has the files of a folder copied beside a packaged game, at the same place.</summary>
    private void Ship(string Folder, params string[] Patterns)
    {
        if (!Directory.Exists(Folder))
        {
            return;
        }
        HashSet<string> LeftOut = ReadLeaveOut();
        foreach (string Pattern in Patterns)
        {
            foreach (string Found in Directory.GetFiles(Folder, Pattern))
            {
                if (!LeftOut.Contains(NameOf(Found)))
                {
                    RuntimeDependencies.Add(Found);
                }
            }
        }
    }

    /// <summary>Returns what Project Settings > Plugins > Sotto > Leave Out names.</summary>
    private HashSet<string> ReadLeaveOut()
    {
        HashSet<string> Found = new HashSet<string>();
        DirectoryReference Project = DirectoryReference.FromFile(Target.ProjectFile);
        if (Project == null)
        {
            return Found; // no project: the engine is built
        }
        ExternalDependencies.Add(Path.Combine(Project.FullName, "Config", "DefaultGame.ini")); // runs this again
        ConfigHierarchy Ini = ConfigCache.ReadHierarchy(ConfigHierarchyType.Game, Project, Target.Platform);
        if (Ini.GetArray("/Script/SottoRuntime.SottoSettings", "LeaveOut", out List<string> Listed))
        {
            Found.UnionWith(Listed);
        }
        foreach (string Name in Found)
        {
            if (Array.IndexOf(Names, Name) < 0)
            {
                throw new ArgumentException(
                    $"invalid LeaveOut '{Name}' of the Sotto settings: expected {string.Join(", ", Names)}; "
                    + "correct Config/DefaultGame.ini");
            }
        }
        if (Found.Contains("onnx"))
        {
            Found.Add("matting"); // which only that module opens
        }
        return Found;
    }

    /// <summary>Returns the name by which Leave Out means a file; another text for files that always ship.</summary>
    private static string NameOf(string Found)
    {
        string Name = Path.GetFileName(Found);
        if (Name.StartsWith("libonnxruntime.so"))
        {
            return "onnx";
        }
        Match Module = Regex.Match(Name, @"^(?:lib)?sotto_(\w+)(?:-[\w.-]+)?\.(?:so|dll)$");
        return Module.Success ? Module.Groups[1].Value : Path.GetFileNameWithoutExtension(Name);
    }
}
