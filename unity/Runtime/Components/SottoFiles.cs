// Where the game's model files are on each platform.
using System.Collections;
using System.IO;
using UnityEngine;
using UnityEngine.Networking;

namespace Sotto
{
    /// <summary>
    /// Finds model files of `StreamingAssets/Sotto`; on Android, copies them out of the package once.
    /// </summary>
    public static class SottoFiles
    {
        /// <summary>Name of the folder in StreamingAssets.</summary>
        public const string Folder = "Sotto";

        /// <summary>File of the house model in that folder.</summary>
        public const string HouseFile = "house.gguf";

        /// <summary>
        /// Whether StreamingAssets lie inside a compressed package that the library cannot open.
        /// </summary>
        public static bool ArePacked => Application.streamingAssetsPath.Contains("://");

        /// <summary>
        /// Returns the path that the library opens. Empty stays empty; an absolute path stays.
        /// </summary>
        public static string PathOf(string file)
        {
            if (string.IsNullOrEmpty(file) || Path.IsPathRooted(file))
                return file ?? "";
            var root = ArePacked ? Application.persistentDataPath : Application.streamingAssetsPath;
            return Path.Combine(root, Folder, file);
        }

        /// <summary>
        /// Whether the file has to be copied out of the package before the library can open it.
        /// </summary>
        public static bool NeedsCopy(string file) =>
            ArePacked && !string.IsNullOrEmpty(file) && !Path.IsPathRooted(file) && !File.Exists(PathOf(file));

        /// <summary>
        /// Copies a file out of the package; a coroutine. A copy that fails leaves no file.
        /// </summary>
        public static IEnumerator Copy(string file)
        {
            var path = PathOf(file);
            Directory.CreateDirectory(Path.GetDirectoryName(path));
            var part = path + ".part";
            using (var request = UnityWebRequest.Get($"{Application.streamingAssetsPath}/{Folder}/{file}"))
            {
                request.downloadHandler = new DownloadHandlerFile(part) { removeFileOnAbort = true };
                yield return request.SendWebRequest();
                if (request.result == UnityWebRequest.Result.Success)
                    File.Move(part, path);
                else
                    File.Delete(part);
            }
        }
    }
}
