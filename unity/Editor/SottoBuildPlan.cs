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
        readonly HashSet<string> _modules = new HashSet<string>(); // backends that the build contains

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

        /// <summary>Modules and models that the settings leave out, by the names of `leaveOut`.</summary>
        public HashSet<string> LeftOut { get; } = new HashSet<string>();

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
            foreach (var one in all)
                ReadLeaveOut(one);
            if (!Names(target, out var library))
            {
                RefusePlatform(target, all.Exists(one => one.buildWithoutLibrary));
                return;
            }
            CheckLibraries(target, library);
            if (_modules.Contains(SottoParts.Onnx))
                PlaceEmbedded(SottoFiles.MattingFile, Path.GetDirectoryName(assets), false);
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

        void ReadLeaveOut(SottoSettings settings)
        {
            foreach (var name in settings.leaveOut)
                if (Array.IndexOf(SottoParts.Names, name) >= 0)
                    LeftOut.Add(name);
                else
                    Problems.Add($"invalid Leave Out '{name}' of settings '{settings.name}': expected one of "
                        + string.Join(", ", SottoParts.Names));
        }

        void CheckLibraries(BuildTarget target, string library)
        {
            var found = Find(library, target);
            if (found == null)
            {
                Problems.Add($"'{library}' is missing for {target}: expected it below '{_plugins}'; build the library "
                    + "and copy its folder `out` there (Documentation~ says how)");
                return;
            }
            var characters = new List<string>(); // modules of models that speak
            foreach (var path in Directory.GetFiles(Path.GetDirectoryName(found)))
            {
                var backend = SottoParts.BackendOf(path);
                if (backend.Length == 0 || LeftOut.Contains(backend))
                    continue;
                _modules.Add(backend);
                if (backend.StartsWith("llama"))
                    characters.Add(path);
            }
            if (characters.Count == 0)
                Problems.Add($"'sotto_llama*' is missing beside '{found}': expected at least one backend module that "
                    + "Leave Out does not name; without it no model loads");
            else if (characters.TrueForAll(path => Path.GetFileName(path).Contains("-native.")))
                Warnings.Add("the only backend module is '-native': it runs on processors like the build machine's; "
                    + "build with SOTTO_TIERS before you ship");
        }

        // Modules lie beside the library, which finds them there. Android packs only files named lib*.so.
        static bool Names(BuildTarget target, out string library)
        {
            var windows = target == BuildTarget.StandaloneWindows64;
            library = windows ? "sotto.dll" : "libsotto.so";
            return windows || target == BuildTarget.Android || target == BuildTarget.StandaloneLinux64;
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
                CheckBackend(entry);
                if (Path.IsPathRooted(entry.file))
                    Problems.Add($"model '{entry.id}' has the absolute path '{entry.file}', which other machines lack: "
                        + $"expected a file of StreamingAssets/{SottoFiles.Folder}");
                else if (!string.IsNullOrEmpty(entry.file))
                    Place(entry.file, imported.Find(path => Path.GetFileName(path) == entry.file), project,
                        $"model '{entry.id}'");
                else
                    PlaceEmbedded(SottoFiles.EmbeddedFile(entry.id), project, true);
            }
            var used = settings.defaultModel;
            if (settings.Find(used) == null && used == SottoSettings.House)
                PlaceEmbedded(SottoFiles.HouseFile, project, true);
            else if (settings.Find(used) == null)
                Problems.Add($"the default model '{used}' of settings '{settings.name}' is not in their list of models: "
                    + "add it, or choose one of the list");
        }

        void CheckBackend(SottoModelEntry entry)
        {
            var backend = SottoParts.BackendOf(entry);
            if (LeftOut.Contains(backend))
                Problems.Add($"model '{entry.id}' needs the module 'sotto_{backend}', which Leave Out of the Sotto "
                    + "settings names: remove the name there, or the model");
            else if (Array.IndexOf(SottoParts.Names, backend) >= 0 && !_modules.Contains(backend))
                Warnings.Add($"model '{entry.id}' needs the module 'sotto_{backend}', which the package lacks for this "
                    + "platform: it will not load there");
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

        // Places a model of the package. `isUsed`: the settings name it, so that its absence is a problem.
        void PlaceEmbedded(string file, string project, bool isUsed)
        {
            if (file.Length == 0)
                return;
            var name = Path.GetFileNameWithoutExtension(file);
            var found = Directory.Exists(_plugins)
                ? Directory.GetFiles(_plugins, file, SearchOption.AllDirectories) : new string[0];
            if (!LeftOut.Contains(name) && (isUsed || found.Length > 0))
                Place(file, found.Length > 0 ? found[0] : null, project, $"model 'sotto/{name}'");
            else if (LeftOut.Contains(name) && isUsed)
                Problems.Add($"model 'sotto/{name}' is used, and Leave Out of the Sotto settings names '{name}': remove "
                    + "the name there, or choose another model");
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
