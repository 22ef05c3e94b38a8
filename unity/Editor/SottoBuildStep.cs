// Refuses a build that lacks libraries or models, and places model files for it.
using System;
using System.Collections.Generic;
using System.IO;
using UnityEditor;
using UnityEditor.Build;
using UnityEditor.Build.Reporting;
using UnityEngine;

namespace Sotto.Editor
{
    /// <summary>Runs before and after each player build.</summary>
    public sealed class SottoBuildStep : IPreprocessBuildWithReport, IPostprocessBuildWithReport
    {
        // What was copied for a build: size, tab and path of each file. Unity keeps it when scripts are reloaded.
        const string Placed = "Sotto.PlacedFiles";

        /// <summary>Order among build steps.</summary>
        public int callbackOrder => 0;

        /// <summary>Checks the build and copies model files into StreamingAssets.</summary>
        /// <exception cref="BuildFailedException">
        /// The build lacks something; the message says what and the way out.
        /// </exception>
        public void OnPreprocessBuild(BuildReport report)
        {
            RemovePlaced(); // files of a build that failed
            var plan = new SottoBuildPlan(
                report.summary.platform, Package(), Application.dataPath, All<SottoSettings>(), ImportedModels());
            foreach (var warning in plan.Warnings)
                Debug.LogWarning("Sotto: " + warning);
            if (plan.Problems.Count > 0)
                throw new BuildFailedException("Sotto: " + string.Join("\nSotto: ", plan.Problems));
            LeaveOut(report.summary.platform, plan.LeftOut);
            foreach (var copy in plan.Copies)
                Place(copy.From, copy.To);
        }

        /// <summary>Removes what was copied for the build.</summary>
        public void OnPostprocessBuild(BuildReport report) => RemovePlaced();

        // Unity calls no step after a build that fails: its copies go when scripts are reloaded or the editor quits.
        [InitializeOnLoadMethod]
        static void RemoveLeftovers()
        {
            EditorApplication.quitting += RemovePlaced;
            if (!BuildPipeline.isBuildingPlayer)
                RemovePlaced();
        }

        // Unity asks for each library whether the player contains it. The editor keeps the answer of the last build.
        static void LeaveOut(BuildTarget target, ICollection<string> parts)
        {
            foreach (var importer in PluginImporter.GetImporters(target))
            {
                var backend = SottoParts.BackendOf(importer.assetPath);
                if (backend.Length > 0)
                    importer.SetIncludeInBuildDelegate(path => !parts.Contains(backend));
            }
        }

        static void Place(string from, string to)
        {
            try
            {
                Directory.CreateDirectory(Path.GetDirectoryName(to));
                File.Copy(from, to);
            }
            catch (Exception problem) when (problem is IOException || problem is UnauthorizedAccessException)
            {
                if (File.Exists(to))
                    File.Delete(to);
                throw new BuildFailedException(
                    $"Sotto: '{from}' could not be copied to '{to}' ({problem.Message}); free disk space, then build "
                    + "again");
            }
            var size = new FileInfo(to).Length;
            SessionState.SetString(Placed, $"{SessionState.GetString(Placed, "")}{size}\t{to}\n");
        }

        static void RemovePlaced()
        {
            var left = "";
            foreach (var line in SessionState.GetString(Placed, "").Split('\n'))
            {
                var tab = line.IndexOf('\t');
                if (tab > 0 && !Remove(line.Substring(tab + 1), long.Parse(line.Substring(0, tab))))
                    left += line + "\n";
            }
            if (left.Length > 0)
                SessionState.SetString(Placed, left);
            else
                SessionState.EraseString(Placed);
        }

        // Keeps a file of another size: someone has put another model there. Returns false to try again later.
        static bool Remove(string path, long size)
        {
            try
            {
                if (!File.Exists(path) || new FileInfo(path).Length != size)
                    return true;
                File.Delete(path);
                File.Delete(path + ".meta");
                return true;
            }
            catch (Exception problem) when (problem is IOException || problem is UnauthorizedAccessException)
            {
                Debug.LogWarning(
                    $"Sotto: '{path}', which was copied for a build, could not be removed ({problem.Message}); "
                    + "remove it, or later builds take it instead of a newer file");
                return false;
            }
        }

        static string Package()
        {
            var info = UnityEditor.PackageManager.PackageInfo.FindForAssembly(typeof(SottoEngine).Assembly);
            return info != null ? info.resolvedPath : Path.Combine(Application.dataPath, "Sotto");
        }

        internal static List<T> All<T>() where T : UnityEngine.Object
        {
            var found = new List<T>();
            foreach (var guid in AssetDatabase.FindAssets("t:" + typeof(T).Name))
                found.Add(AssetDatabase.LoadAssetAtPath<T>(AssetDatabase.GUIDToAssetPath(guid)));
            return found;
        }

        static IEnumerable<string> ImportedModels()
        {
            foreach (var file in All<SottoModelFile>())
                yield return file.path;
        }
    }
}
