// Filters and queries of a store.
using System;
using System.Collections.Generic;

namespace Sotto
{
    /// <summary>Conditions on the metadata of entries; an entry must meet all.</summary>
    /// <remarks>A path names a field of the metadata: "place", or "room.floor" for a field of a field.</remarks>
    /// <example><code>
    /// new SottoStoreWhere().Equal("place", "inn").AtLeast("room.floor", 1).In("mood", "happy", "calm")
    /// </code></example>
    public sealed class SottoStoreWhere
    {
        readonly List<string> _paths = new List<string>();
        readonly List<SottoJsonWriter> _conditions = new List<SottoJsonWriter>(); // of each path, without braces

        /// <summary>The field is this text.</summary>
        public SottoStoreWhere Equal(string path, string value) => Add(path, "eq", json => json.Value(value));

        /// <summary>The field is this number.</summary>
        public SottoStoreWhere Equal(string path, double value) => Add(path, "eq", json => json.Value(value));

        /// <summary>The field is true or false.</summary>
        public SottoStoreWhere Equal(string path, bool value) => Add(path, "eq", json => json.Value(value));

        /// <summary>The field is not this text.</summary>
        public SottoStoreWhere NotEqual(string path, string value) => Add(path, "ne", json => json.Value(value));

        /// <summary>The field is this number or more.</summary>
        public SottoStoreWhere AtLeast(string path, double value) => Add(path, "gte", json => json.Value(value));

        /// <summary>The field is this number or less.</summary>
        public SottoStoreWhere AtMost(string path, double value) => Add(path, "lte", json => json.Value(value));

        /// <summary>The field is more than this number.</summary>
        public SottoStoreWhere Above(string path, double value) => Add(path, "gt", json => json.Value(value));

        /// <summary>The field is less than this number.</summary>
        public SottoStoreWhere Below(string path, double value) => Add(path, "lt", json => json.Value(value));

        /// <summary>The field is one of these texts.</summary>
        public SottoStoreWhere In(string path, params string[] values) =>
            Add(path, "in", json =>
            {
                json.BeginArray();
                foreach (var value in values)
                    json.Value(value);
                json.EndArray();
            });

        /// <summary>Returns the conditions as JSON.</summary>
        public override string ToString()
        {
            var json = new SottoJsonWriter().BeginObject();
            for (var i = 0; i < _paths.Count; ++i)
                json.Name(_paths[i]).BeginObject().Raw(_conditions[i]).EndObject();
            return json.EndObject().ToString();
        }

        SottoStoreWhere Add(string path, string op, Action<SottoJsonWriter> write)
        {
            var one = new SottoJsonWriter(32);
            write(one.Name(op)); // may throw; nothing is changed then
            var at = _paths.IndexOf(path);
            if (at < 0)
            {
                at = _paths.Count;
                _paths.Add(path);
                _conditions.Add(new SottoJsonWriter(32));
            }
            _conditions[at].Raw(one);
            return this;
        }
    }

    /// <summary>Selects entries; all parts must match.</summary>
    public class SottoStoreFilter
    {
        /// <summary>Exactly this namespace; "" is the default one. Null: all.</summary>
        public string Namespace { get; set; }

        /// <summary>Part of the key, compared without regard to case. Null: any key.</summary>
        public string KeyContains { get; set; }

        /// <summary>Conditions on the metadata. Null: none.</summary>
        public SottoStoreWhere Where { get; set; }

        /// <summary>Returns the filter as JSON.</summary>
        public override string ToString()
        {
            var json = new SottoJsonWriter();
            Write(json.BeginObject());
            return json.EndObject().ToString();
        }

        internal virtual void Write(SottoJsonWriter json)
        {
            if (Namespace != null)
                json.Name("namespace").Value(Namespace);
            if (KeyContains != null)
                json.Name("key_contains").Value(KeyContains);
            if (Where != null)
                json.Name("where").Raw(Where.ToString());
        }
    }

    /// <summary>Finds entries by words, by embedding, or by both; without either, those accessed last.</summary>
    /// <remarks>
    /// A number that is null takes the library's default. The weights make the score: the mean of relevance, priority,
    /// recency and importance.
    /// </remarks>
    public sealed class SottoStoreQuery : SottoStoreFilter
    {
        /// <summary>Words to find in keys and values; an entry needs one of them.</summary>
        public string Text { get; set; } = "";

        /// <summary>The embedding. Null: none.</summary>
        public float[] Embedding { get; set; }

        /// <summary>Maximum number of matches, 1 to 10,000.</summary>
        public int Limit { get; set; } = 10;

        /// <summary>Entries that each search finds before they are scored. Null: 4 * limit, at least 64.</summary>
        public int? Candidates { get; set; }

        /// <summary>False: filters the candidates instead of what is searched. Faster, finds less.</summary>
        public bool Prefilter { get; set; } = true;

        /// <summary>Weight of the relevance. Null: 1.</summary>
        public double? RelevanceWeight { get; set; }

        /// <summary>Weight of the priority. Null: 0.</summary>
        public double? PriorityWeight { get; set; }

        /// <summary>Weight of the recency. Null: 0.</summary>
        public double? RecencyWeight { get; set; }

        /// <summary>Weight of the importance. Null: 0.</summary>
        public double? ImportanceWeight { get; set; }

        /// <summary>Half-life of the recency in seconds. Null: a day.</summary>
        public double? HalfLifeSeconds { get; set; }

        /// <summary>Time from which the recency counts, in ms. 0: the system's clock.</summary>
        public long NowMs { get; set; }

        /// <summary>Records the matches as accessed at <see cref="NowMs"/>.</summary>
        public bool Touch { get; set; }

        /// <summary>Whether the matches have their embeddings.</summary>
        public bool WithEmbedding { get; set; }

        internal override void Write(SottoJsonWriter json)
        {
            base.Write(json);
            json.Name("text").Value(Text ?? "").Name("limit").Value(Limit);
            if (Candidates != null)
                json.Name("candidates").Value(Candidates.Value);
            json.Name("prefilter").Value(Prefilter).Name("now_ms").Value(NowMs).Name("touch").Value(Touch);
            json.Name("with_embedding").Value(WithEmbedding);
            if (HalfLifeSeconds != null)
                json.Name("half_life_s").Value(HalfLifeSeconds.Value);
            json.Name("weights").BeginObject();
            Weight(json, "relevance", RelevanceWeight);
            Weight(json, "priority", PriorityWeight);
            Weight(json, "recency", RecencyWeight);
            Weight(json, "importance", ImportanceWeight);
            json.EndObject();
        }

        static void Weight(SottoJsonWriter json, string name, double? weight)
        {
            if (weight != null)
                json.Name(name).Value(weight.Value);
        }
    }
}
