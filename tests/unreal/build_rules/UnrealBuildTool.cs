// A double of the part of UnrealBuildTool that this plugin's Build.cs files use. Written by hand from Epic's public
// documentation; names and types are those of UE 5.3 to 5.6. A missing member is a compiler error, by intention.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using EpicGames.Core;

namespace EpicGames.Core
{
    public class FileReference
    {
        public FileReference(string path)
        {
            FullName = Path.GetFullPath(path);
        }

        public string FullName { get; }
    }

    public class DirectoryReference
    {
        DirectoryReference(string path)
        {
            FullName = path;
        }

        public string FullName { get; }

        public static DirectoryReference FromFile(FileReference file) =>
            file == null ? null : new DirectoryReference(Path.GetDirectoryName(file.FullName));
    }
}

namespace UnrealBuildTool
{
    public enum ConfigHierarchyType { Engine, Game }

    // Only Config/DefaultGame.ini of the project, and of its arrays only lines with `+`, as the editor writes them.
    public class ConfigHierarchy
    {
        readonly string[] _lines;

        public ConfigHierarchy(string[] lines)
        {
            _lines = lines;
        }

        public bool GetArray(string sectionName, string keyName, out List<string> values)
        {
            var section = _lines.SkipWhile(line => line != "[" + sectionName + "]").Skip(1);
            var start = "+" + keyName + "=";
            values = section.TakeWhile(line => !line.StartsWith("[")).Where(line => line.StartsWith(start))
                .Select(line => line.Substring(start.Length)).ToList();
            return values.Count > 0;
        }
    }

    public static class ConfigCache
    {
        public static ConfigHierarchy ReadHierarchy(
            ConfigHierarchyType type, DirectoryReference projectDir, UnrealTargetPlatform platform)
        {
            var file = Path.Combine(projectDir.FullName, "Config", "Default" + type + ".ini");
            return new ConfigHierarchy(File.Exists(file) ? File.ReadAllLines(file) : new string[0]);
        }
    }

    public struct UnrealTargetPlatform : IEquatable<UnrealTargetPlatform>
    {
        public static readonly UnrealTargetPlatform Win64 = new UnrealTargetPlatform("Win64");
        public static readonly UnrealTargetPlatform Mac = new UnrealTargetPlatform("Mac");
        public static readonly UnrealTargetPlatform Linux = new UnrealTargetPlatform("Linux");
        public static readonly UnrealTargetPlatform LinuxArm64 = new UnrealTargetPlatform("LinuxArm64");
        public static readonly UnrealTargetPlatform Android = new UnrealTargetPlatform("Android");
        public static readonly UnrealTargetPlatform IOS = new UnrealTargetPlatform("IOS");

        readonly string _name;

        UnrealTargetPlatform(string name)
        {
            _name = name;
        }

        public static UnrealTargetPlatform Parse(string name)
        {
            foreach (var known in new[] { Win64, Mac, Linux, LinuxArm64, Android, IOS })
            {
                if (known._name == name)
                    return known;
            }
            throw new ArgumentException(
                "invalid platform '" + name + "': expected Win64, Mac, Linux, LinuxArm64, Android or IOS");
        }

        public bool IsInGroup(UnrealPlatformGroup group) => group.Contains(_name);
        public bool Equals(UnrealTargetPlatform other) => _name == other._name;
        public override bool Equals(object other) => other is UnrealTargetPlatform platform && Equals(platform);
        public override int GetHashCode() => _name.GetHashCode();
        public override string ToString() => _name;
        public static bool operator ==(UnrealTargetPlatform a, UnrealTargetPlatform b) => a.Equals(b);
        public static bool operator !=(UnrealTargetPlatform a, UnrealTargetPlatform b) => !a.Equals(b);
    }

    public struct UnrealPlatformGroup
    {
        public static readonly UnrealPlatformGroup Windows = new UnrealPlatformGroup("Win64");
        public static readonly UnrealPlatformGroup Microsoft = new UnrealPlatformGroup("Win64");
        public static readonly UnrealPlatformGroup Apple = new UnrealPlatformGroup("Mac", "IOS");
        public static readonly UnrealPlatformGroup Linux = new UnrealPlatformGroup("Linux", "LinuxArm64");
        public static readonly UnrealPlatformGroup Unix = new UnrealPlatformGroup("Linux", "LinuxArm64");
        public static readonly UnrealPlatformGroup Android = new UnrealPlatformGroup("Android");

        readonly string[] _platforms;

        UnrealPlatformGroup(params string[] platforms)
        {
            _platforms = platforms;
        }

        public bool Contains(string platform) => Array.IndexOf(_platforms, platform) >= 0;
    }

    public enum UnrealTargetConfiguration { Unknown, Debug, DebugGame, Development, Test, Shipping }
    public enum TargetType { Game, Editor, Client, Server, Program }
    public enum CppStandardVersion { Default, Cpp17, Cpp20, Latest }
    public enum StagedFileType { UFS, NonUFS, DebugNonUFS, SystemNonUFS }

    public class ReadOnlyTargetRules
    {
        public ReadOnlyTargetRules(UnrealTargetPlatform platform, TargetType type)
        {
            Platform = platform;
            Type = type;
        }

        public UnrealTargetPlatform Platform { get; }
        public FileReference ProjectFile => Places.Project.Length > 0 ? new FileReference(Places.Project) : null;
        public TargetType Type { get; }
        public UnrealTargetConfiguration Configuration => UnrealTargetConfiguration.Development;
        public bool bBuildEditor => Type == TargetType.Editor;
    }

    public class RuntimeDependencyList
    {
        // Where the file is staged, and its source.
        public readonly List<KeyValuePair<string, string>> Paths = new List<KeyValuePair<string, string>>();

        public void Add(string path) => Add(path, path);
        public void Add(string path, StagedFileType type) => Add(path, path);
        public void Add(string path, string source, StagedFileType type = StagedFileType.NonUFS) =>
            Paths.Add(new KeyValuePair<string, string>(path, source));
    }

    public class ReceiptPropertyList
    {
        public readonly List<KeyValuePair<string, string>> Properties = new List<KeyValuePair<string, string>>();

        public void Add(string name, string value) => Properties.Add(new KeyValuePair<string, string>(name, value));
    }

    public class ModuleRules
    {
        public enum ModuleType { CPlusPlus, External }
        public enum PCHUsageMode { Default, NoPCHs, NoSharedPCHs, UseSharedPCHs, UseExplicitOrSharedPCHs }

        public readonly List<string> PublicDependencyModuleNames = new List<string>();
        public readonly List<string> PrivateDependencyModuleNames = new List<string>();
        public readonly List<string> DynamicallyLoadedModuleNames = new List<string>();
        public readonly List<string> PublicIncludePathModuleNames = new List<string>();
        public readonly List<string> PrivateIncludePathModuleNames = new List<string>();
        public readonly List<string> PublicIncludePaths = new List<string>();
        public readonly List<string> PublicSystemIncludePaths = new List<string>();
        public readonly List<string> PrivateIncludePaths = new List<string>();
        public readonly List<string> PublicAdditionalLibraries = new List<string>();
        public readonly List<string> PublicSystemLibraries = new List<string>();
        public readonly List<string> PublicDelayLoadDLLs = new List<string>();
        public readonly List<string> PublicDefinitions = new List<string>();
        public readonly List<string> PrivateDefinitions = new List<string>();
        public readonly List<string> ExternalDependencies = new List<string>();
        public readonly RuntimeDependencyList RuntimeDependencies = new RuntimeDependencyList();
        public readonly ReceiptPropertyList AdditionalPropertiesForReceipt = new ReceiptPropertyList();

        public ModuleRules(ReadOnlyTargetRules Target)
        {
            this.Target = Target;
        }

        // Not a member of UnrealBuildTool: what the next function was given.
        public readonly List<string> EngineThirdParty = new List<string>();

        public void AddEngineThirdPartyPrivateStaticDependencies(ReadOnlyTargetRules Target, params string[] modules) =>
            EngineThirdParty.AddRange(modules);

        public ModuleType Type = ModuleType.CPlusPlus;
        public PCHUsageMode PCHUsage = PCHUsageMode.Default;
        public CppStandardVersion CppStandard = CppStandardVersion.Default;
        public bool bEnableExceptions;
        public bool bUseRTTI;
        public bool bUseUnity = true;
        public ReadOnlyTargetRules Target { get; }

        // Where the Build.cs lies. As in UnrealBuildTool, both are known before the constructor runs.
        public string ModuleDirectory => Places.Module;
        public string PluginDirectory => Places.Plugin;
        public string EngineDirectory => Places.Engine;
    }

    public static class Places
    {
        public static string Module = "";
        public static string Plugin = "";
        public static string Engine = "";
        public static string Project = ""; // the .uproject; empty: none
    }
}
