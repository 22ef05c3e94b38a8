// Refuses a build that lacks libraries or models, and places model files for it.
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
        static readonly List<string> Placed = new List<string>(); // copied for this build

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
            foreach (var copy in plan.Copies)
            {
                Directory.CreateDirectory(Path.GetDirectoryName(copy.To));
                File.Copy(copy.From, copy.To);
                Placed.Add(copy.To);
            }
        }

        /// <summary>Removes what was copied for the build.</summary>
        public void OnPostprocessBuild(BuildReport report) => RemovePlaced();

        static void RemovePlaced()
        {
            foreach (var path in Placed)
            {
                File.Delete(path);
                File.Delete(path + ".meta");
            }
            Placed.Clear();
        }

        static string Package()
        {
            var info = UnityEditor.PackageManager.PackageInfo.FindForAssembly(typeof(SottoEngine).Assembly);
            return info != null ? info.resolvedPath : Path.Combine(Application.dataPath, "Sotto");
        }

        internal static List<T> All<T>() where T : Object
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
