// What a store holds, and what a query finds.
using Sotto.Interop;

namespace Sotto
{
    /// <summary>One memory of a store.</summary>
    /// <remarks>An entry needs a <see cref="Value"/> or a <see cref="Key"/>; the other fields have defaults.</remarks>
    public sealed class SottoStoreEntry
    {
        /// <summary>Id, unique in the store, at most 256 bytes of UTF-8. Empty: a random one.</summary>
        public string Id { get; set; } = "";

        /// <summary>Namespace, such as a character's name.</summary>
        public string Namespace { get; set; } = "";

        /// <summary>Title or trigger. Searched as text, where it counts twice.</summary>
        public string Key { get; set; } = "";

        /// <summary>The memory. Searched as text.</summary>
        public string Value { get; set; } = "";

        /// <summary>A number of the game's.</summary>
        public double Priority { get; set; } = 1;

        /// <summary>From 0 to 1.</summary>
        public double Importance { get; set; } = 0.5;

        /// <summary>Milliseconds since 1970, or of the game's own clock. 0: now.</summary>
        public long CreatedMs { get; set; }

        /// <summary>Time of the last access that was recorded. 0: <see cref="CreatedMs"/>.</summary>
        public long AccessedMs { get; set; }

        /// <summary>A JSON object, which filters read.</summary>
        public string Metadata { get; set; } = "{}";

        /// <summary>The embedding. Null: none, or it was not asked for.</summary>
        public float[] Embedding { get; set; }

        /// <summary>Creates an empty entry.</summary>
        public SottoStoreEntry()
        {
        }

        /// <summary>Creates an entry.</summary>
        /// <param name="value">The memory.</param>
        /// <param name="space">Namespace, such as a character's name.</param>
        public SottoStoreEntry(string value, string space = "")
        {
            Value = value;
            Namespace = space;
        }

        internal void Write(SottoJsonWriter json, bool withEmbedding)
        {
            json.BeginObject();
            if (!string.IsNullOrEmpty(Id))
                json.Name("id").Value(Id);
            json.Name("namespace").Value(Namespace ?? "");
            if (!string.IsNullOrEmpty(Key))
                json.Name("key").Value(Key);
            if (!string.IsNullOrEmpty(Value))
                json.Name("value").Value(Value);
            json.Name("priority").Value(Priority).Name("importance").Value(Importance);
            json.Name("created_ms").Value(CreatedMs).Name("accessed_ms").Value(AccessedMs);
            json.Name("metadata").Raw(string.IsNullOrEmpty(Metadata) ? "{}" : Metadata);
            if (withEmbedding && Embedding != null)
                WriteFloats(json.Name("embedding"), Embedding);
            json.EndObject();
        }

        internal static void WriteFloats(SottoJsonWriter json, float[] values)
        {
            json.BeginArray();
            foreach (var value in values)
                json.Value((double)value);
            json.EndArray();
        }

        internal static SottoStoreEntry Read(ref JsonReader json)
        {
            var entry = new SottoStoreEntry();
            json.BeginObject();
            for (var name = json.NextField(); name != null; name = json.NextField())
                if (!entry.ReadField(name, ref json))
                    json.Skip();
            return entry;
        }

        internal bool ReadField(string name, ref JsonReader json)
        {
            switch (name)
            {
                case "id": Id = json.Text(); return true;
                case "namespace": Namespace = json.Text(); return true;
                case "key": Key = json.Text(); return true;
                case "value": Value = json.Text(); return true;
                case "priority": Priority = json.Number(); return true;
                case "importance": Importance = json.Number(); return true;
                case "created_ms": CreatedMs = json.Integer(); return true;
                case "accessed_ms": AccessedMs = json.Integer(); return true;
                case "metadata": Metadata = json.Raw(); return true;
                case "embedding": Embedding = json.Floats(); return true;
                default: return false;
            }
        }
    }

    /// <summary>Changes of an entry; a field that is null stays as it is.</summary>
    public sealed class SottoStoreChanges
    {
        /// <summary>Namespace.</summary>
        public string Namespace { get; set; }

        /// <summary>Title or trigger.</summary>
        public string Key { get; set; }

        /// <summary>The memory.</summary>
        public string Value { get; set; }

        /// <summary>A number of the game's.</summary>
        public double? Priority { get; set; }

        /// <summary>From 0 to 1.</summary>
        public double? Importance { get; set; }

        /// <summary>Time of the last access, in ms.</summary>
        public long? AccessedMs { get; set; }

        /// <summary>A JSON object.</summary>
        public string Metadata { get; set; }

        /// <summary>The embedding.</summary>
        public float[] Embedding { get; set; }

        /// <summary>Whether the embedding is removed; <see cref="Embedding"/> is null then.</summary>
        public bool RemovesEmbedding { get; set; }

        /// <summary>Returns the changes as JSON.</summary>
        public override string ToString()
        {
            var json = new SottoJsonWriter().BeginObject();
            Write(json, "namespace", Namespace);
            Write(json, "key", Key);
            Write(json, "value", Value);
            if (Priority != null)
                json.Name("priority").Value(Priority.Value);
            if (Importance != null)
                json.Name("importance").Value(Importance.Value);
            if (AccessedMs != null)
                json.Name("accessed_ms").Value(AccessedMs.Value);
            if (Metadata != null)
                json.Name("metadata").Raw(Metadata);
            if (Embedding != null)
                SottoStoreEntry.WriteFloats(json.Name("embedding"), Embedding);
            else if (RemovesEmbedding)
                json.Name("embedding").Raw("null");
            return json.EndObject().ToString();
        }

        static void Write(SottoJsonWriter json, string name, string text)
        {
            if (text != null)
                json.Name(name).Value(text);
        }
    }

    /// <summary>An entry that a query found.</summary>
    public sealed class SottoStoreMatch
    {
        /// <summary>The entry.</summary>
        public SottoStoreEntry Entry { get; private set; }

        /// <summary>Mean of relevance, priority, recency and importance by the query's weights.</summary>
        public double Score { get; private set; }

        /// <summary>
        /// Cosine, BM25 as a fraction of the best match's, or both fused, by the kind of query.
        /// </summary>
        public double Relevance { get; private set; }

        /// <summary>1 for an entry that was accessed now; halves with each half-life.</summary>
        public double Recency { get; private set; }

        /// <summary>Cosine of the embeddings, -1 to 1. Null if either has none.</summary>
        public double? Similarity { get; private set; }

        /// <summary>BM25, larger is better. Null if the entry does not match the text.</summary>
        public double? TextScore { get; private set; }

        internal static SottoStoreMatch Read(ref JsonReader json)
        {
            var match = new SottoStoreMatch { Entry = new SottoStoreEntry() };
            json.BeginObject();
            for (var name = json.NextField(); name != null; name = json.NextField())
                if (!match.ReadField(name, ref json) && !match.Entry.ReadField(name, ref json))
                    json.Skip();
            return match;
        }

        bool ReadField(string name, ref JsonReader json)
        {
            switch (name)
            {
                case "score": Score = json.Number(); return true;
                case "relevance": Relevance = json.Number(); return true;
                case "recency": Recency = json.Number(); return true;
                case "similarity": Similarity = json.NumberOrNull(); return true;
                case "text_score": TextScore = json.NumberOrNull(); return true;
                default: return false;
            }
        }
    }
}
