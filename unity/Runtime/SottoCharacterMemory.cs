// The memories of one character: entries of a store, found by meaning and by words, deleted by a rule.
using System;
using System.Collections.Generic;
using System.Threading.Tasks;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>What one character remembers: a namespace of a store.</summary>
    /// <remarks>
    /// The entries are those of <c>sotto.npc.Memories</c> in Python: a game reads memories that a tool has written, and
    /// the other way round. All methods wait for the disk and for the embedding model: call them on a worker thread, or
    /// call their <c>Async</c> twins, which run them on a thread of the pool; never wait in a frame. One thread at a
    /// time adds to a character's memories. The store and the engine must live until the last call has returned.
    /// </remarks>
    /// <example><code>
    /// var mara = new SottoCharacterMemory(store, "Mara", engine, "sotto/minilm");
    /// await mara.TellAsync("The cellar is locked after dusk.");
    /// foreach (var memory in await mara.RecallAsync("When is the cellar locked?", 4))
    ///     Show(memory.Text);
    /// </code></example>
    public sealed partial class SottoCharacterMemory
    {
        /// <summary>Importance of a fact that the game tells.</summary>
        public const double FactImportance = 0.8;

        /// <summary>Importance of what is said and overheard.</summary>
        public const double TalkImportance = 0.3;

        const double RecencyWeight = 0.1, ImportanceWeight = 0.1;
        static readonly DateTime Epoch = new DateTime(1970, 1, 1, 0, 0, 0, DateTimeKind.Utc);
        readonly SottoStore _store;
        readonly Func<string[], float[][]> _embed;
        readonly Func<double> _clock;

        /// <summary>Opens the memories of a character.</summary>
        /// <param name="store">Where they are kept. Several characters share a store.</param>
        /// <param name="character">Name of the character, the namespace of its memories.</param>
        /// <param name="engine">Engine with the embedding model.</param>
        /// <param name="model">Id of the loaded embedding model.</param>
        /// <param name="forgetting">When memories are deleted. Null: the defaults.</param>
        /// <param name="clock">
        /// Returns seconds since 1970, on any thread; a game passes its own, so that nobody forgets while it is paused.
        /// Null: the system's.
        /// </param>
        public SottoCharacterMemory(
            SottoStore store, string character, SottoEngine engine, string model, SottoForgetting forgetting = null,
            Func<double> clock = null)
            : this(store, character, EmbedderOf(engine, model), forgetting, clock)
        {
        }

        /// <summary>Opens the memories of a character, with an embedding model of the game's.</summary>
        /// <param name="store">Where they are kept. Several characters share a store.</param>
        /// <param name="character">Name of the character, the namespace of its memories.</param>
        /// <param name="embed">Returns a vector for each text; called on the thread that calls a method.</param>
        /// <param name="forgetting">When memories are deleted. Null: the defaults.</param>
        /// <param name="clock">Returns seconds since 1970, on any thread. Null: the system's.</param>
        public SottoCharacterMemory(
            SottoStore store, string character, Func<string[], float[][]> embed, SottoForgetting forgetting = null,
            Func<double> clock = null)
        {
            _store = Arguments.Required("store", store, "an open SottoStore");
            Character = Arguments.Required("character", character, "the name of the character");
            _embed = Arguments.Required("embed", embed, "a function that returns a vector for each text");
            Forgetting = forgetting ?? new SottoForgetting();
            _clock = clock ?? (() => (DateTime.UtcNow - Epoch).TotalSeconds);
        }

        /// <summary>Name of the character.</summary>
        public string Character { get; }

        /// <summary>When memories are deleted.</summary>
        public SottoForgetting Forgetting { get; }

        /// <summary>Returns the number of memories.</summary>
        public long Count() => _store.Count(Own());

        /// <summary>Returns all memories, in the order in which they were added.</summary>
        public List<SottoMemory> List() => _store.List(Own()).ConvertAll(entry => new SottoMemory(entry));

        /// <summary>Lets the character know something for certain.</summary>
        /// <param name="fact">A sentence.</param>
        /// <param name="importance">From 0 to 1. Memories of importance 1 are never forgotten before others.</param>
        public void Tell(string fact, double importance = FactImportance) =>
            Add(new[] { fact }, SottoMemoryKind.Fact, importance);

        /// <summary>Lets the character hear what somebody says to others.</summary>
        /// <param name="text">What was said.</param>
        /// <param name="by">Who said it.</param>
        /// <param name="importance">From 0 to 1.</param>
        public void Overhear(string text, string by, double importance = TalkImportance) =>
            Add(new[] { $"{by} said: {text}" }, SottoMemoryKind.Heard, importance);

        /// <summary>Remembers an exchange of a conversation, as <c>sotto.npc.Character</c> does after an answer.</summary>
        /// <param name="by">Who spoke to the character. Empty: "The visitor".</param>
        /// <param name="text">What was said to it.</param>
        /// <param name="answer">What it answered.</param>
        /// <returns>The sentence, for <c>without</c> of <see cref="Recall"/> while the conversation has the turn.</returns>
        public string RememberExchange(string by, string text, string answer)
        {
            var line = ExchangeOf(by, text, answer);
            Add(new[] { line }, SottoMemoryKind.Said, TalkImportance);
            return line;
        }

        /// <summary>
        /// Adds sentences. A sentence that is known already is not kept twice; it becomes recent again. Then forgets
        /// the weakest memories if there are too many.
        /// </summary>
        /// <param name="texts">The sentences; line breaks and repeated spaces become one space.</param>
        /// <param name="kind">How the character came to know them.</param>
        /// <param name="importance">From 0 to 1.</param>
        public void Add(
            IEnumerable<string> texts, SottoMemoryKind kind = SottoMemoryKind.Fact, double importance = 0.5)
        {
            var metadata = new SottoJsonWriter().BeginObject().Name("kind").Value(SottoMemory.NameOf(kind));
            var now = NowMs();
            var fresh = new List<SottoStoreEntry>();
            foreach (var line in Lines(texts))
            {
                var id = SottoMemory.IdOf(Character, line);
                if (!_store.Update(id, new SottoStoreChanges { AccessedMs = now, Importance = importance }))
                    fresh.Add(new SottoStoreEntry(line, Character)
                    {
                        Id = id, Importance = importance, CreatedMs = now,
                    });
            }
            if (fresh.Count == 0)
                return;
            metadata.EndObject();
            foreach (var entry in fresh)
                entry.Metadata = metadata.ToString();
            _store.Insert(fresh, SottoEmbeddings.Join(Embed(fresh.ConvertAll(entry => entry.Value).ToArray())));
            Forget();
        }

        /// <summary>Returns the memories that fit a text best, best first.</summary>
        /// <param name="about">What is looked for, such as what a visitor said.</param>
        /// <param name="limit">Maximum number of memories.</param>
        /// <param name="without">Sentences that are left out. Null: none.</param>
        public List<SottoMemory> Recall(string about, int limit = 8, IReadOnlyCollection<string> without = null)
        {
            var found = new List<SottoMemory>();
            Arguments.Count("limit", limit, "0 recalls nothing");
            if (limit == 0 || SottoMemory.Line(about ?? "").Length == 0)
                return found;
            var left = new HashSet<string>(without ?? new string[0]);
            var matches = _store.Query(new SottoStoreQuery
            {
                Text = about,
                Embedding = Embed(new[] { about })[0],
                Namespace = Character,
                Limit = limit + (without?.Count ?? 0),
                RelevanceWeight = 1,
                RecencyWeight = RecencyWeight,
                ImportanceWeight = ImportanceWeight,
                HalfLifeSeconds = Forgetting.HalfLifeSeconds,
                NowMs = NowMs(),
            });
            foreach (var match in matches)
                if (found.Count < limit && !left.Contains(match.Entry.Value))
                    found.Add(new SottoMemory(match.Entry));
            return found;
        }

        /// <summary>Makes memories recent, because they were recalled for an answer.</summary>
        public void Use(IEnumerable<SottoMemory> memories)
        {
            var now = NowMs();
            foreach (var memory in memories)
                _store.Update(memory.Id, new SottoStoreChanges { AccessedMs = now });
        }

        /// <summary>Deletes the weakest memories if there are too many; see <see cref="SottoForgetting"/>.</summary>
        /// <returns>The number of memories deleted.</returns>
        public long Forget()
        {
            var count = Count();
            if (count <= Forgetting.Most)
                return 0;
            var now = _clock();
            var all = List();
            var order = new int[all.Count]; // a sort by strength that keeps the order of insertion
            for (var i = 0; i < order.Length; ++i)
                order[i] = i;
            var strengths = all.ConvertAll(memory => Forgetting.Strength(memory, now));
            Array.Sort(order, (a, b) =>
                strengths[a] != strengths[b] ? strengths[a].CompareTo(strengths[b]) : a.CompareTo(b));
            var gone = new string[Math.Min(order.Length, (int)(count - Forgetting.Most * 9L / 10))];
            for (var i = 0; i < gone.Length; ++i)
                gone[i] = all[order[i]].Id;
            return _store.Remove(gone);
        }

        /// <summary>Adds a fact on a thread of the pool, as <see cref="Tell"/>.</summary>
        public Task TellAsync(string fact, double importance = FactImportance) =>
            Task.Run(() => Tell(fact, importance));

        /// <summary>Adds what is overheard on a thread of the pool, as <see cref="Overhear"/>.</summary>
        public Task OverhearAsync(string text, string by, double importance = TalkImportance) =>
            Task.Run(() => Overhear(text, by, importance));

        /// <summary>Remembers an exchange on a thread of the pool, as <see cref="RememberExchange"/>.</summary>
        public Task<string> RememberExchangeAsync(string by, string text, string answer) =>
            Task.Run(() => RememberExchange(by, text, answer));

        /// <summary>Recalls memories on a thread of the pool, as <see cref="Recall"/>.</summary>
        public Task<List<SottoMemory>> RecallAsync(
            string about, int limit = 8, IReadOnlyCollection<string> without = null) =>
            Task.Run(() => Recall(about, limit, without));

        /// <summary>Makes memories recent on a thread of the pool, as <see cref="Use"/>.</summary>
        public Task UseAsync(IEnumerable<SottoMemory> memories) => Task.Run(() => Use(memories));

        internal static string ExchangeOf(string by, string text, string answer)
        {
            var who = string.IsNullOrEmpty(by) ? "The visitor" : by;
            return SottoMemory.Line($"{who} said: {text} You said: {answer}");
        }

        SottoStoreFilter Own() => new SottoStoreFilter { Namespace = Character };

        long NowMs() => (long)(_clock() * 1000);

        float[][] Embed(string[] texts)
        {
            var vectors = _embed(texts);
            return vectors != null && vectors.Length == texts.Length ? vectors
                : throw SottoEmbeddings.Bad($"{texts.Length} vectors, not {vectors?.Length ?? 0}");
        }

        static Func<string[], float[][]> EmbedderOf(SottoEngine engine, string model)
        {
            Arguments.Required("engine", engine, "an engine with the embedding model");
            Arguments.Required("model", model, "the id of a loaded embedding model");
            return texts => engine.EmbedBeginnings(model, texts);
        }

        // Distinct lines that are not empty, in their order.
        static List<string> Lines(IEnumerable<string> texts)
        {
            Arguments.Required("texts", texts, "sentences");
            var seen = new HashSet<string>();
            var lines = new List<string>();
            foreach (var text in texts)
            {
                var line = SottoMemory.Line(text ?? "");
                if (line.Length > 0 && seen.Add(line))
                    lines.Add(line);
            }
            return lines;
        }
    }
}
