// The files of the package that a build can leave out, by name.
using System;
using System.Collections.Generic;
using System.IO;
using System.Text.RegularExpressions;

namespace Sotto.Editor
{
    /// <summary>Names the backend modules and the embedded models of the package.</summary>
    static class SottoParts
    {
        /// <summary>The module that opens the matting model.</summary>
        public const string Onnx = "onnx";

        /// <summary>All names: modules by their backend, then models without their suffix.</summary>
        public static readonly string[] Names =
        {
            "llama", "llama_cuda", "llama_vulkan", "proxy", Onnx, "diffusion", "diffusion_vulkan",
            Path.GetFileNameWithoutExtension(SottoFiles.HouseFile),
            Path.GetFileNameWithoutExtension(SottoFiles.MattingFile),
        };

        static readonly Regex Module = new Regex(@"^(?:lib)?sotto_(\w+)(?:-[\w.-]+)?\.(?:so|dll)$");

        // Backends of files that the default backend does not open, as native/core/model/built_in.cpp has them.
        static readonly Dictionary<string, string> Endings =
            new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase)
            {
                { ".onnx", Onnx }, { ".safetensors", "diffusion" },
            };

        /// <summary>Returns the backend of a module, such as "llama_vulkan"; "" for other files.</summary>
        public static string BackendOf(string path)
        {
            var found = Module.Match(Path.GetFileName(path));
            return found.Success && Array.IndexOf(Names, found.Groups[1].Value) >= 0 ? found.Groups[1].Value : "";
        }

        /// <summary>Returns the backend that opens a model of the settings; "" for the default backend.</summary>
        public static string BackendOf(SottoModelEntry entry)
        {
            if (!string.IsNullOrEmpty(entry.backend))
                return entry.backend;
            var file = string.IsNullOrEmpty(entry.file) ? SottoFiles.EmbeddedFile(entry.id) : entry.file;
            return Endings.TryGetValue(Path.GetExtension(file), out var backend) ? backend : "";
        }
    }
}
