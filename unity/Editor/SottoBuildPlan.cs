// What a build needs: native library, backend modules, model files.
using System;
using System.Collections.Generic;
using System.IO;
using UnityEditor;

namespace Sotto.Editor
{
    /// <summary>Finds what a build lacks and which files have to be copied into StreamingAssets.</summary>
    public sealed class SottoBuildPlan
    {
        readonly string _plugins;
        readonly string _streaming;

        /// <summary>A file that the build needs at another place.</summary>
        public readonly struct Copy
        {
            public readonly string From;
            public readonly string To;

            public Copy(string from, string to)
            {
                From = from;
                To = to;
            }
        }

        /// <summary>Why the build cannot work, each with the way out.</summary>
        public List<string> Problems { get; } = new List<string>();

        /// <summary>What may surprise on other machines.</summary>
        public List<string> Warnings { get; } = new List<string>();

        /// <summary>Files to copy before the build.</summary>
        public List<Copy> Copies { get; } = new List<Copy>();

        /// <summary>Checks a build.</summary>
        /// <param name="target">The platform.</param>
        /// <param name="package">Folder of this package.</param>
        /// <param name="assets">Folder Assets of the project.</param>
        /// <param name="settings">Settings assets that the game may use.</param>
        /// <param name="imported">GGUF files in Assets, relative to the project.</param>
        public SottoBuildPlan(
            BuildTarget target, string package, string assets, IEnumerable<SottoSettings> settings,
            IEnumerable<string> imported)
        {
            _plugins = Path.Combine(package, "Plugins");
            _streaming = Path.Combine(assets, "StreamingAssets", SottoFiles.Folder);
            var all = new List<SottoSettings>(settings);
            if (all.Count == 0)
                all.Add(SottoSettings.Default);
            if (!Names(target, out var library, out var modules))
            {
                RefusePlatform(target, all.Exists(one => one.buildWithoutLibrary));
                return;
            }
            CheckLibraries(target, library, modules);
            var files = new List<string>(imported);
            foreach (var one in all)
            {
                CheckModels(one, Path.GetDirectoryName(assets), files);
                CheckMemory(one);
                CheckGuardrails(one);
            }
        }

        void RefusePlatform(BuildTarget target, bool accepted)
        {
            var reason = $"Sotto has no library for {target}: expected Windows 64 bit, Linux 64 bit or Android; ";
            if (accepted)
                Warnings.Add(reason + "characters are silent in this build");
            else
                Problems.Add(reason + "build for one of these, or set Build Without Library in the Sotto settings");
        }

        void CheckLibraries(BuildTarget target, string library, string modules)
        {
            var found = Find(library, target);
            if (found == null)
            {
                Problems.Add($"'{library}' is missing for {target}: expected it below '{_plugins}'; build the library "
                    + "and copy its folder `out` there (Documentation~ says how)");
                return;
            }
            var beside = Directory.GetFiles(Path.GetDirectoryName(found), modules);
            if (beside.Length == 0)
                Problems.Add($"'{modules}' is missing beside '{found}': expected at least one backend module; without "
                    + "it no model loads");
            else if (Array.TrueForAll(beside, path => Path.GetFileName(path).Contains("-native.")))
                Warnings.Add("the only backend module is '-native': it runs on processors like the build machine's; "
                    + "build with SOTTO_TIERS before you ship");
        }

        // Modules lie beside the library, which finds them there. Android packs only files named lib*.so.
        static bool Names(BuildTarget target, out string library, out string modules)
        {
            var windows = target == BuildTarget.StandaloneWindows64;
            var android = target == BuildTarget.Android;
            library = windows ? "sotto.dll" : "libsotto.so";
            modules = windows ? "sotto_llama*.dll" : android ? "libsotto_llama*.so" : "sotto_llama*.so";
            return windows || android || target == BuildTarget.StandaloneLinux64;
        }

        string Find(string library, BuildTarget target)
        {
            if (!Directory.Exists(_plugins))
                return null;
            foreach (var path in Directory.GetFiles(_plugins, library, SearchOption.AllDirectories))
            {
                var forAndroid = path.Substring(_plugins.Length).IndexOf("android", StringComparison.OrdinalIgnoreCase) >= 0;
                if (forAndroid == (target == BuildTarget.Android))
                    return path;
            }
            return null;
        }

        void CheckModels(SottoSettings settings, string project, List<string> imported)
        {
            foreach (var entry in settings.models)
            {
                if (string.IsNullOrEmpty(entry.id))
                    Problems.Add($"settings '{settings.name}' have a model without an id: expected a name; fill it in");
                if (Path.IsPathRooted(entry.file))
                    Problems.Add($"model '{entry.id}' has the absolute path '{entry.file}', which other machines lack: "
                        + $"expected a file of StreamingAssets/{SottoFiles.Folder}");
                else if (!string.IsNullOrEmpty(entry.file))
                    Place(entry.file, imported.Find(path => Path.GetFileName(path) == entry.file), project,
                        $"model '{entry.id}'");
            }
            var used = settings.defaultModel;
            if (settings.Find(used) == null && used == SottoSettings.House)
                PlaceHouse(project);
            else if (settings.Find(used) == null)
                Problems.Add($"the default model '{used}' of settings '{settings.name}' is not in their list of models: "
                    + "add it, or choose one of the list");
        }

        void CheckMemory(SottoSettings settings)
        {
            if (!string.IsNullOrEmpty(settings.embeddingModel) && settings.Find(settings.embeddingModel) == null)
                Problems.Add($"the embedding model '{settings.embeddingModel}' of settings '{settings.name}' is not in "
                    + "their list of models: add it, or leave Embedding Model empty");
        }

        void CheckGuardrails(SottoSettings settings)
        {
            try
            {
                settings.CreateGuard()?.Dispose();
            }
            catch (SottoException refused) when (refused.Status == Interop.Native.SOTTO_ERROR_ARGUMENT)
            {
                Problems.Add(refused.Message); // without an argument at fault, the editor has no library
            }
        }

        void PlaceHouse(string project)
        {
            var found = Directory.Exists(_plugins)
                ? Directory.GetFiles(_plugins, SottoFiles.HouseFile, SearchOption.AllDirectories) : new string[0];
            Place(SottoFiles.HouseFile, found.Length > 0 ? found[0] : null, project, $"model '{SottoSettings.House}'");
        }

        void WarnOfOther(string from, string to, string what)
        {
            if (File.Exists(from) && new FileInfo(from).Length != new FileInfo(to).Length)
                Warnings.Add($"{what}: the build takes '{to}', whose size differs from that of '{from}'; remove the "
                    + "first file unless it is meant to replace the second");
        }

        void Place(string file, string source, string project, string what)
        {
            var to = Path.Combine(_streaming, file);
            var from = source == null ? "" : Path.Combine(project ?? "", source);
            if (File.Exists(to))
                WarnOfOther(from, to, what);
            else if (Copies.Exists(copy => copy.To == to))
                return;
            else if (File.Exists(from))
                Copies.Add(new Copy(from, to));
            else
                Problems.Add($"{what} lacks its file: expected '{to}'; copy the file there, or remove the model from "
                    + "the Sotto settings");
        }
    }
}
