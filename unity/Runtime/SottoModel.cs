// Describes a model to load or to plan.
namespace Sotto
{
    /// <summary>A model and its options. A field that is null or empty takes the backend's default.</summary>
    /// <example><code>
    /// await engine.LoadModelAsync(new SottoModel("npc", path) { Context = 1024, Parallel = 2 });
    /// </code></example>
    public sealed class SottoModel
    {
        readonly SottoJsonWriter _more = new SottoJsonWriter(16);

        /// <summary>Describes a model.</summary>
        /// <param name="id">Name of the model in requests.</param>
        /// <param name="path">The file. Empty: the id is a path, or "sotto/house".</param>
        public SottoModel(string id, string path = "")
        {
            Id = id;
            Path = path;
        }

        /// <summary>Name of the model in requests.</summary>
        public string Id { get; set; }

        /// <summary>The file. Empty: the id is a path, or "sotto/house".</summary>
        public string Path { get; set; }

        /// <summary>Name of the backend. Empty: the first available backend.</summary>
        public string Backend { get; set; } = "";

        /// <summary>`context`: tokens of one stream, prompt and answer together.</summary>
        public int? Context { get; set; }

        /// <summary>`min_context`: shortest context to which memory pressure may reduce streams.</summary>
        public int? MinContext { get; set; }

        /// <summary>`parallel`: slots, 1 to 64.</summary>
        public int? Parallel { get; set; }

        /// <summary>`batch`: maximum tokens in one step.</summary>
        public int? Batch { get; set; }

        /// <summary>`ubatch`: tokens that one graph computes, 1 to `batch`.</summary>
        public int? Ubatch { get; set; }

        /// <summary>`threads`: maximum threads of a step that only decodes.</summary>
        public int? Threads { get; set; }

        /// <summary>`threads_batch`: maximum threads of a step that prefills.</summary>
        public int? ThreadsBatch { get; set; }

        /// <summary>`mmap`: map the file instead of reading it.</summary>
        public bool? Mmap { get; set; }

        /// <summary>`mlock`: lock the weights in main memory.</summary>
        public bool? Mlock { get; set; }

        /// <summary>`check_tensors`: refuse a file with NaN or invalid numbers.</summary>
        public bool? CheckTensors { get; set; }

        /// <summary>`gpu_layers`: layers on the device.</summary>
        public int? GpuLayers { get; set; }

        /// <summary>`flash_attention`: "auto", "on" or "off".</summary>
        public string FlashAttention { get; set; } = "";

        /// <summary>`kv_type`: "f16" or "q8_0".</summary>
        public string KvType { get; set; } = "";

        /// <summary>`speculative`: "off" or "lookup".</summary>
        public string Speculative { get; set; } = "";

        /// <summary>`draft`: path of a draft model with the same vocabulary.</summary>
        public string Draft { get; set; } = "";

        /// <summary>`chat_template`: a Jinja template.</summary>
        public string ChatTemplate { get; set; } = "";

        /// <summary>`projector`: path of an mmproj file, for images or audio.</summary>
        public string Projector { get; set; } = "";

        /// <summary>Sets an option of the backend that has no property here; the value is JSON.</summary>
        public SottoModel SetJson(string option, string json)
        {
            _more.Name(option).Raw(json);
            return this;
        }

        /// <summary>Returns the options as a JSON object, or "" if there are none.</summary>
        public string OptionsJson()
        {
            var json = new SottoJsonWriter();
            json.BeginObject();
            var empty = json.Size;
            Write(json, "context", Context);
            Write(json, "min_context", MinContext);
            Write(json, "parallel", Parallel);
            Write(json, "batch", Batch);
            Write(json, "ubatch", Ubatch);
            Write(json, "threads", Threads);
            Write(json, "threads_batch", ThreadsBatch);
            Write(json, "mmap", Mmap);
            Write(json, "mlock", Mlock);
            Write(json, "check_tensors", CheckTensors);
            Write(json, "gpu_layers", GpuLayers);
            Write(json, "flash_attention", FlashAttention);
            Write(json, "kv_type", KvType);
            Write(json, "speculative", Speculative);
            Write(json, "draft", Draft);
            Write(json, "chat_template", ChatTemplate);
            Write(json, "projector", Projector);
            json.Raw(_more);
            return json.Size == empty ? "" : json.EndObject().ToString();
        }

        static void Write(SottoJsonWriter json, string name, int? number)
        {
            if (number != null)
                json.Name(name).Value(number.Value);
        }

        static void Write(SottoJsonWriter json, string name, bool? truth)
        {
            if (truth != null)
                json.Name(name).Value(truth.Value);
        }

        static void Write(SottoJsonWriter json, string name, string text)
        {
            if (!string.IsNullOrEmpty(text))
                json.Name(name).Value(text);
        }
    }
}
