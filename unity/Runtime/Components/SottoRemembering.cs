// The memory of a character: recalls before an answer, remembers after it.
using System;
using System.Collections.Generic;
using System.Threading.Tasks;
using Sotto.Interop;
using UnityEngine;

namespace Sotto
{
    public sealed partial class SottoCharacter
    {
        const int MaxExchanges = 16; // latest exchanges, which the conversation has and Recall leaves out

        [Header("Memory")]
        [Tooltip("Keeps what is said in the store of the settings, and recalls it before an answer.")]
        public bool remembers;

        [Tooltip("Name of its memories in the store. Empty: the full name of its sheet, else the object's name.")]
        public string memoryName = "";

        [Tooltip("Maximum number of memories in a prompt.")]
        [Min(0)]
        public int recalled = 4;

        [Tooltip("Maximum number of tokens that they take. 0: no limit.")]
        [Min(0)]
        public int memoryTokens = 256;

        readonly List<string> _exchanges = new List<string>();
        Task<SottoCharacterMemory> _memory; // null: it does not remember
        SottoAnswer _embedder; // the load of the embedding model
        TaskCompletionSource<bool> _embedderDone; // completed when that load has ended
        Task _work = Task.CompletedTask; // the last work on the memories; each waits for the one before
        string _system; // the last system message that was sent; null: that of the opening

        /// <summary>
        /// Its memories. The task is null if the component is disabled or does not remember, and fails if the store cannot
        /// be opened. Call their methods on a worker thread, or the <c>Async</c> ones.
        /// </summary>
        public Task<SottoCharacterMemory> Memory => _memory;

        /// <summary>Lets the character know something for certain. Never waits.</summary>
        /// <param name="fact">A sentence.</param>
        /// <param name="importance">From 0 to 1.</param>
        /// <exception cref="SottoException">The character is disabled or does not remember.</exception>
        public Task TellAsync(string fact, double importance = SottoCharacterMemory.FactImportance)
        {
            RequireMemory("SottoCharacter.TellAsync()");
            return Queue(memory => memory.Tell(fact, importance));
        }

        /// <summary>Lets the character hear what somebody says to others. Never waits; it does not answer.</summary>
        /// <exception cref="SottoException">The character is disabled or does not remember.</exception>
        public Task OverhearAsync(string text, string by)
        {
            RequireMemory("SottoCharacter.OverhearAsync()");
            return Queue(memory => memory.Overhear(text, by));
        }

        void OpenMemory()
        {
            if (!remembers || _session == null)
                return;
            var model = _runtime.settings.embeddingModel;
            if (string.IsNullOrEmpty(model))
            {
                Debug.LogError(
                    $"SottoCharacter '{name}' cannot remember: set Embedding Model in the Sotto settings", this);
                return;
            }
            var engine = _runtime.Engine;
            var character = memoryName.Length > 0 ? memoryName
                : sheet != null && sheet.fullName.Length > 0 ? sheet.fullName : name;
            _embedder = _runtime.LoadModel(model);
            _embedderDone = new TaskCompletionSource<bool>();
            if (_embedder.IsDone)
                _embedderDone.SetResult(true);
            else
                _embedder.Completed += OnEmbedderLoaded;
            var store = _runtime.OpenStoreAsync();
            _memory = Task.WhenAll(store, _embedderDone.Task).ContinueWith(
                done => new SottoCharacterMemory(store.GetAwaiter().GetResult(), character, engine, model),
                TaskScheduler.Default);
        }

        void CloseMemory()
        {
            if (_embedder != null)
            {
                _embedder.Completed -= OnEmbedderLoaded;
                _embedderDone.TrySetResult(true);
            }
            _embedder = null;
            _memory = null;
            _system = null;
            _exchanges.Clear();
        }

        void RequireMemory(string call)
        {
            RequireSession(call);
            if (_memory == null)
                throw new SottoException(
                    Native.SOTTO_ERROR_STATE,
                    $"{call}: the character does not remember; set Remembers, and Embedding Model in the Sotto settings");
        }

        void OnEmbedderLoaded(SottoAnswer load)
        {
            load.Completed -= OnEmbedderLoaded;
            _embedderDone.TrySetResult(true);
            Advance();
        }

        // Returns whether the turn has to wait for its memories; begins to recall them.
        bool WaitsForMemories(Turn turn)
        {
            if (_memory == null || turn.EndedRecall)
                return false;
            if (!_embedder.IsDone)
                return true; // OnEmbedderLoaded continues
            if (turn.BeganRecall)
                return true;
            turn.BeganRecall = true;
            var runtime = _runtime;
            var engine = _runtime.Engine;
            var model = UsedModel;
            int most = recalled, tokens = memoryTokens;
            var without = _exchanges.ToArray();
            List<SottoMemory> found = null;
            Queue(memory => found = Fitting(memory.Recall(turn.Text, most, without), tokens, engine, model)).ContinueWith(
                done =>
                {
                    var problem = done.Exception?.GetBaseException().Message;
                    runtime.CallLater(() => OnRecalled(turn, found, problem));
                },
                TaskScheduler.Default);
            return true;
        }

        // Returns the first memories, as many as an allowance of tokens holds. On a thread of the pool.
        static List<SottoMemory> Fitting(List<SottoMemory> found, int tokens, SottoEngine engine, string model)
        {
            if (tokens == 0)
                return found;
            var count = 0;
            while (count < found.Count && (tokens -= engine.CountTokens(model, found[count].Text)) >= 0)
                ++count;
            return found.GetRange(0, count);
        }

        void OnRecalled(Turn turn, List<SottoMemory> found, string problem)
        {
            turn.EndedRecall = true;
            if (this == null || !_turns.Contains(turn) || _session == null || !IsEngineAlive)
                return; // it ended meanwhile
            if (problem != null)
                Debug.LogWarning($"SottoCharacter '{name}' answers without its memories: {problem}", this);
            turn.Memories = found;
            var system = sheet != null ? sheet.ToPrompt(found) : "";
            if (sheet != null && system != (_system ?? sheet.ToPrompt()))
                _session.SetSystem(system);
            _system = system;
            Advance();
        }

        // Keeps the exchange, and makes recent what was recalled for it.
        void Remember(Turn turn, string spoken)
        {
            if (_memory == null || !turn.EndedRecall || turn.Memories == null)
                return;
            var visitor = sheet != null ? sheet.visitor : "";
            _exchanges.Add(SottoCharacterMemory.ExchangeOf(visitor, turn.Text, spoken));
            if (_exchanges.Count > MaxExchanges)
                _exchanges.RemoveAt(0);
            var runtime = _runtime;
            Queue(memory =>
            {
                memory.Use(turn.Memories);
                memory.RememberExchange(visitor, turn.Text, spoken);
            }).ContinueWith(
                failed => runtime.CallLater(() => Debug.LogWarning(
                    "a character does not remember an exchange: " + failed.Exception.GetBaseException().Message)),
                System.Threading.CancellationToken.None, TaskContinuationOptions.OnlyOnFaulted, TaskScheduler.Default);
        }

        // Runs work on a thread of the pool, after the work that was queued before.
        Task Queue(Action<SottoCharacterMemory> work)
        {
            var opening = _memory;
            var queued = Task.WhenAll(_work, opening).ContinueWith(
                before => work(opening.GetAwaiter().GetResult()), TaskScheduler.Default);
            _work = queued;
            return queued;
        }
    }
}
