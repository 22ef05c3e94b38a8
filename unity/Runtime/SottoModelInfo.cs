// Facts about a loaded model: its memory, and what its file says.
using System.Collections.Generic;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>A loaded model. Facts that its backend does not know are 0, empty or null.</summary>
    public sealed class SottoModelInfo
    {
        static readonly Dictionary<string, string> None = new Dictionary<string, string>();

        /// <summary>Name of the model in requests.</summary>
        public string Id { get; private set; } = "";

        /// <summary>Name of the backend.</summary>
        public string Backend { get; private set; } = "";

        /// <summary>Tokens of one stream, prompt and answer together.</summary>
        public int Context { get; private set; }

        /// <summary>Slots: answers in progress at once.</summary>
        public int Streams { get; private set; }

        /// <summary>Architecture, such as "llama".</summary>
        public string Architecture { get; private set; } = "";

        /// <summary>Type of most weights, such as "Q4_0".</summary>
        public string Quantization { get; private set; } = "";

        /// <summary>Number of parameters.</summary>
        public long Parameters { get; private set; }

        /// <summary>Number of layers.</summary>
        public int Layers { get; private set; }

        /// <summary>Context that the model was trained with, in tokens.</summary>
        public int TrainedContext { get; private set; }

        /// <summary>Values of a vector that the model computes for a token.</summary>
        public int EmbeddingLength { get; private set; }

        /// <summary>Metadata of the file: keys and values as text, without arrays and templates.</summary>
        public IReadOnlyDictionary<string, string> Metadata { get; private set; } = None;

        /// <summary>Chat templates of the file by name; "default" is used.</summary>
        public IReadOnlyDictionary<string, string> ChatTemplates { get; private set; } = None;

        /// <summary>
        /// The whole entry as JSON: also `bytes`, `adapters`, `details` with `special_tokens` and `capabilities`.
        /// </summary>
        public string Json { get; private set; } = "";

        SottoModelInfo()
        {
        }

        /// <summary>Returns the entry of a model in a JSON array of models; null without it.</summary>
        internal static SottoModelInfo Find(sotto_str models, string id)
        {
            var list = new JsonReader(models);
            for (list.BeginArray(); list.NextItem();)
            {
                var entry = list.Raw();
                var found = Parse(entry);
                if (found.Id == id)
                    return found;
            }
            return null;
        }

        static unsafe SottoModelInfo Parse(string entry)
        {
            var made = new SottoModelInfo { Json = entry };
            var bytes = Utf8.Bytes(entry);
            fixed (byte* b = bytes)
            {
                var json = new JsonReader(b, bytes.Length);
                json.BeginObject();
                for (var name = json.NextField(); name != null; name = json.NextField())
                    switch (name)
                    {
                        case "id": made.Id = json.Text(); break;
                        case "backend": made.Backend = json.Text(); break;
                        case "context": made.Context = (int)json.Integer(); break;
                        case "streams": made.Streams = (int)json.Integer(); break;
                        case "details" when json.Peek() == '{': made.ReadDetails(ref json); break;
                        default: json.Skip(); break;
                    }
            }
            return made;
        }

        // Backends other than llama may have fields of these names with values of other types.
        void ReadDetails(ref JsonReader json)
        {
            json.BeginObject();
            for (var name = json.NextField(); name != null; name = json.NextField())
            {
                var kind = json.Peek();
                var isNumber = kind >= '0' && kind <= '9';
                switch (name)
                {
                    case "architecture" when kind == '"': Architecture = json.Text(); break;
                    case "quantization" when kind == '"': Quantization = json.Text(); break;
                    case "parameters" when isNumber: Parameters = (long)json.Number(); break;
                    case "layers" when isNumber: Layers = (int)json.Number(); break;
                    case "trained_context" when isNumber: TrainedContext = (int)json.Number(); break;
                    case "embedding_length" when isNumber: EmbeddingLength = (int)json.Number(); break;
                    case "metadata" when kind == '{': Metadata = Pairs(ref json); break;
                    case "chat_templates" when kind == '{': ChatTemplates = Pairs(ref json); break;
                    default: json.Skip(); break;
                }
            }
        }

        static Dictionary<string, string> Pairs(ref JsonReader json)
        {
            var pairs = new Dictionary<string, string>();
            json.BeginObject();
            for (var name = json.NextField(); name != null; name = json.NextField())
                pairs[name] = json.Peek() == '"' ? json.Text() : json.Raw();
            return pairs;
        }
    }

    public sealed unsafe partial class SottoEngine
    {
        /// <summary>Returns facts about a loaded model. Never waits.</summary>
        /// <param name="id">Id of the model.</param>
        /// <exception cref="SottoException">No model of that id is loaded.</exception>
        public SottoModelInfo ModelInfo(string id)
        {
            sotto_str json;
            Check(Native.sotto_engine_list_models(_engine, &json));
            return SottoModelInfo.Find(json, id) ?? throw new SottoException(
                Native.SOTTO_ERROR_NOT_FOUND, $"model '{id}' is not loaded: load it first");
        }
    }
}
