// Where the game's model files are on each platform.
using System;
using System.Collections;
using System.Collections.Generic;
using System.IO;
using UnityEngine;

namespace Sotto
{
    /// <summary>
    /// Finds model files of `StreamingAssets/Sotto`; on Android, copies them out of the package once for each
    /// build of the game.
    /// </summary>
    public static class SottoFiles
    {
        /// <summary>Name of the folder in StreamingAssets.</summary>
        public const string Folder = "Sotto";

        /// <summary>File of the house model in that folder.</summary>
        public const string HouseFile = "house.gguf";

        /// <summary>File of the matting model in that folder.</summary>
        public const string MattingFile = "matting.onnx";

        const string BuildPrefix = "build-";

        static readonly Dictionary<string, SottoFileCopy> Copies = new Dictionary<string, SottoFileCopy>();

        /// <summary>
        /// Whether StreamingAssets lie inside a compressed package that the library cannot open.
        /// </summary>
        public static bool ArePacked => Application.streamingAssetsPath.Contains("://");

        /// <summary>Returns the file of a model that the package contains; "" for other models.</summary>
        public static string EmbeddedFile(string id) =>
            id == SottoSettings.House ? HouseFile : id == SottoSettings.Matting ? MattingFile : "";

        /// <summary>
        /// Returns the path that the library opens. Empty stays empty; an absolute path stays.
        /// </summary>
        public static string PathOf(string file)
        {
            if (string.IsNullOrEmpty(file) || Path.IsPathRooted(file))
                return file ?? "";
            return ArePacked
                ? Path.Combine(CopyRoot, CopyFolder, file)
                : Path.Combine(Application.streamingAssetsPath, Folder, file);
        }

        /// <summary>
        /// Whether the file has to be copied out of the package before the library can open it.
        /// </summary>
        public static bool NeedsCopy(string file) =>
            ArePacked && !string.IsNullOrEmpty(file) && !Path.IsPathRooted(file) && !File.Exists(PathOf(file));

        /// <summary>
        /// Copies a file out of the package; a coroutine. Copies of the same file at once share one copy. A copy
        /// that fails leaves no file.
        /// </summary>
        /// <param name="file">Path of the file, relative to the folder in StreamingAssets.</param>
        /// <param name="failed">Gets the paths and the reason if the copy fails. Null: logs an error.</param>
        public static IEnumerator Copy(string file, Action<string> failed = null)
        {
            var path = PathOf(file);
            if (!Copies.TryGetValue(path, out var copy))
            {
                RemoveOlder();
                copy = new SottoFileCopy($"{Application.streamingAssetsPath}/{Folder}/{file}", path);
                Copies.Add(path, copy);
            }
            while (!copy.Poll())
                yield return null;
            if (Copies.TryGetValue(path, out var latest) && latest == copy)
                Copies.Remove(path); // the next call tries again
            if (copy.Error.Length == 0)
                yield break;
            if (failed != null)
                failed(copy.Error);
            else
                Debug.LogError("Sotto: " + copy.Error);
        }

        static string CopyRoot => Path.Combine(Application.persistentDataPath, Folder);

        // An update of the game has another one, so that it does not find the models of the version before.
        static string CopyFolder => BuildPrefix + Application.buildGUID;

        static void RemoveOlder()
        {
            try
            {
                if (!Directory.Exists(CopyRoot))
                    return;
                foreach (var folder in Directory.GetDirectories(CopyRoot, BuildPrefix + "*"))
                    if (Path.GetFileName(folder) != CopyFolder)
                        Directory.Delete(folder, true);
            }
            catch (Exception problem) when (SottoFileCopy.IsOfFiles(problem))
            {
                Debug.LogWarning($"Sotto: models of older builds stay in '{CopyRoot}' ({problem.Message})");
            }
        }
    }
}
