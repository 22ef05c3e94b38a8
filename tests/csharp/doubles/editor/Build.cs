// Stand-ins for UnityEditor's builds, importers and package manager.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;

namespace UnityEditor
{
    public enum BuildTarget
    {
        StandaloneOSX = 2,
        StandaloneWindows = 5,
        iOS = 9,
        Android = 13,
        StandaloneWindows64 = 19,
        WebGL = 20,
        StandaloneLinux64 = 24,
    }

    public class AssetImporter : UnityEngine.Object
    {
        public string assetPath { get; internal set; } = "";
    }

    public sealed class PluginImporter : AssetImporter
    {
        public delegate bool IncludeInBuildDelegate(string path);

        static readonly Dictionary<string, PluginImporter> Known = new Dictionary<string, PluginImporter>();
        IncludeInBuildDelegate _included; // kept from one build to the next, as in the editor

        // One for each library below Plugins of the package; the .meta files that choose the platform are not read.
        public static PluginImporter[] GetImporters(BuildTarget platform) =>
            Directory.GetFiles(Path.Combine(Doubles.EditorPlayer.Package, "Plugins"), "*", SearchOption.AllDirectories)
                .Where(path => path.EndsWith(".so") || path.EndsWith(".dll")).Select(Of).ToArray();

        public void SetIncludeInBuildDelegate(IncludeInBuildDelegate includeInBuildDelegate) =>
            _included = includeInBuildDelegate;

        public bool ShouldIncludeInBuild() => _included == null || _included(assetPath);

        static PluginImporter Of(string path)
        {
            if (!Known.TryGetValue(path, out var importer))
                Known[path] = importer = new PluginImporter { assetPath = path };
            return importer;
        }
    }

    public class BuildPipeline
    {
        public static bool isBuildingPlayer => Doubles.EditorPlayer.IsBuilding;
    }
}

namespace UnityEditor.Build
{
    public interface IOrderedCallback
    {
        int callbackOrder { get; }
    }

    public interface IPreprocessBuildWithReport : IOrderedCallback
    {
        void OnPreprocessBuild(Reporting.BuildReport report);
    }

    public interface IPostprocessBuildWithReport : IOrderedCallback
    {
        void OnPostprocessBuild(Reporting.BuildReport report);
    }

    public class BuildFailedException : Exception
    {
        public BuildFailedException(string message) : base(message)
        {
        }
    }
}

namespace UnityEditor.Build.Reporting
{
    public struct BuildSummary
    {
        public BuildTarget platform { get; internal set; }
    }

    public sealed class BuildReport : UnityEngine.Object
    {
        readonly BuildTarget _target;

        internal BuildReport(BuildTarget target) => _target = target;

        public BuildSummary summary => new BuildSummary { platform = _target };
    }
}

namespace UnityEditor.AssetImporters
{
    [AttributeUsage(AttributeTargets.Class, Inherited = false)]
    public class ScriptedImporterAttribute : Attribute
    {
        public ScriptedImporterAttribute(int version, string ext)
        {
        }
    }

    public abstract class ScriptedImporter : AssetImporter
    {
        public abstract void OnImportAsset(AssetImportContext ctx);
    }

    public class AssetImportContext
    {
        internal AssetImportContext(string assetPath) => this.assetPath = assetPath;

        public string assetPath { get; }
        public UnityEngine.Object mainObject { get; private set; }
        internal List<string> Errors { get; } = new List<string>();

        public void AddObjectToAsset(string identifier, UnityEngine.Object obj)
        {
        }

        public void SetMainObject(UnityEngine.Object obj) => mainObject = obj;
        public void LogImportError(string msg, UnityEngine.Object obj = null) => Errors.Add(msg);
    }
}

namespace UnityEditor.PackageManager
{
    public sealed class PackageInfo
    {
        internal PackageInfo()
        {
        }

        public string resolvedPath { get; private set; } = "";

        public static PackageInfo FindForAssembly(Assembly assembly) =>
            Doubles.EditorPlayer.Package.Length > 0
                ? new PackageInfo { resolvedPath = Doubles.EditorPlayer.Package } : null;
    }
}
