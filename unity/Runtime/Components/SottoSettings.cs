// The settings of an engine, as an asset in a Resources folder.
using System;
using System.Collections.Generic;
using UnityEngine;

namespace Sotto
{
    /// <summary>A model of the settings.</summary>
    [Serializable]
    public sealed class SottoModelEntry
    {
        [Tooltip("Name of the model in characters and requests.")]
        public string id = "";

        [Tooltip("Model file, relative to StreamingAssets/Sotto, or an absolute path. Empty: a model of the package.")]
        public string file = "";

        [Tooltip("Backend. Empty: the first available.")]
        public string backend = "";

        [Tooltip("Tokens of one stream, prompt and answer together. 0: the default.")]
        [Min(0)]
        public int context;

        [Tooltip("Answers in progress at once. 0: the default.")]
        [Min(0)]
        public int parallel;

        /// <summary>
        /// Returns the description for <see cref="SottoEngine.LoadModelAsync(SottoModel,
        /// System.Threading.CancellationToken)"/>.
        /// </summary>
        public SottoModel ToModel(string path) =>
            new SottoModel(id, path)
            {
                Backend = backend,
                Context = context > 0 ? context : (int?)null,
                Parallel = parallel > 0 ? parallel : (int?)null,
            };
    }

    /// <summary>How an engine works, and the models that it may load.</summary>
    /// <remarks>
    /// The asset `Resources/SottoSettings` is the default; a <see cref="SottoRuntime"/> may have its own.
    /// </remarks>
    [CreateAssetMenu(menuName = "Sotto/Settings", fileName = "SottoSettings")]
    public sealed class SottoSettings : ScriptableObject
    {
        /// <summary>Name of the default asset in Resources.</summary>
        public const string ResourceName = "SottoSettings";

        /// <summary>Id of the house model.</summary>
        public const string House = "sotto/house";

        /// <summary>Id of the model that removes backgrounds.</summary>
        public const string Matting = "sotto/matting";

        static SottoSettings _fallback;

        [Header("Engine")]
        public SottoMode mode = SottoMode.Balance;

        [Tooltip("Tokens per second per stream. 0: no pacing.")]
        [Min(0)]
        public float targetTps = 20;

        [Tooltip("MiB for all models together. 0: no limit.")]
        [Min(0)]
        public int memoryBudgetMb;

        [Tooltip("\"cpu\", \"auto\", \"vulkan\", \"cuda\" or \"cuda0\". Empty: \"cpu\".")]
        public string device = "";

        [Tooltip("Folder of the backend modules. Empty: beside the library.")]
        public string moduleDir = "";

        [Tooltip("Shares the GPU that Unity draws with, if the renderer is Direct3D 12 or Vulkan.")]
        public bool shareGraphics = true;

        [Header("Frames")]
        [Tooltip("Reports frames to the engine, so that models compute in the time that the game leaves free.")]
        public bool reportFrames = true;

        [Tooltip("Cores that the game keeps busy during a frame. Unity has a main and a render thread.")]
        [Min(1)]
        public int busyCores = 2;

        [Header("Models")]
        [Tooltip("Model of characters that name none.")]
        public string defaultModel = House;

        public List<SottoModelEntry> models = new List<SottoModelEntry>();

        [Header("Memory")]
        [Tooltip("Embedding model of the list above, with which characters recall. Empty: characters do not remember.")]
        public string embeddingModel = "";

        [Tooltip("Dimensions of that model's embeddings.")]
        [Min(1)]
        public int embeddingDim = 384;

        [Tooltip("Name of the store in persistentDataPath/Sotto, for example one for each save slot.")]
        public string memoryStore = "memories";

        [Header("Guardrails")]
        [Tooltip("JSON with phrases and expressions that no line of the player and no answer may hold; empty: none.")]
        public TextAsset guardrails;

        [Header("Builds")]
        [Tooltip("Builds for platforms that have no Sotto library; characters are silent there.")]
        public bool buildWithoutLibrary;

        [Tooltip("Modules and models of the package that no build contains: llama_vulkan, llama_cuda, proxy, onnx, "
            + "diffusion, diffusion_vulkan, house, matting.")]
        public List<string> leaveOut = new List<string>();

        /// <summary>
        /// The asset `Resources/SottoSettings`, or the built-in defaults if there is no such asset.
        /// </summary>
        public static SottoSettings Default
        {
            get
            {
                var asset = Resources.Load<SottoSettings>(ResourceName);
                if (asset != null)
                    return asset;
                if (_fallback == null)
                    _fallback = CreateInstance<SottoSettings>();
                return _fallback;
            }
        }

        /// <summary>Creates an engine with these settings, its guardrails included.</summary>
        /// <exception cref="SottoException">
        /// The library is missing, a value is out of range, or the guardrails are invalid.
        /// </exception>
        public SottoEngine CreateEngine()
        {
            using (var guard = CreateGuard())
                return new SottoEngine(
                    mode, targetTps, (ulong)Math.Max(0, memoryBudgetMb) << 20, moduleDir, device, guard: guard);
        }

        /// <summary>Creates a guard with the guardrails; the caller disposes it. Null: there are none.</summary>
        /// <exception cref="SottoException">The asset is not a configuration; the message has the path.</exception>
        public SottoGuard CreateGuard()
        {
            if (guardrails == null)
                return null;
            try
            {
                return new SottoGuard(guardrails.text);
            }
            catch (SottoException refused)
            {
                throw new SottoException(
                    refused.Status, $"Guardrails of the Sotto settings, asset '{guardrails.name}': {refused.Message}");
            }
        }

        /// <summary>Returns the entry of a model, or null.</summary>
        public SottoModelEntry Find(string id) => models.Find(one => one != null && one.id == id);
    }
}
