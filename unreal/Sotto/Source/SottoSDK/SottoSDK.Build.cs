using System.IO;
using UnrealBuildTool;

/// <summary>The native library: headers, and the files that a game ships.</summary>
/// <remarks>
/// The plugin loads the library at run time and links nothing. On Windows, a game's own C++ may call the C
/// functions too: through the import library, whose DLL is loaded with the first call.
/// </remarks>
public class SottoSDK : ModuleRules
{
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
            Ship(Folder, "*.dll", "*.gguf");
        }
        else if (Target.Platform == UnrealTargetPlatform.Linux)
        {
            Ship(Path.Combine(ModuleDirectory, "lib", "Linux"), "*.so", "*.gguf");
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
        foreach (string Pattern in Patterns)
        {
            foreach (string Found in Directory.GetFiles(Folder, Pattern))
            {
                RuntimeDependencies.Add(Found);
            }
        }
    }
}
