// A character that speaks: its sheet, model, pace and priority, and events to show what it says.
using System;
using System.Collections.Generic;
using System.Threading;
using Sotto.Interop;
using UnityEngine;
using UnityEngine.Events;

namespace Sotto
{
    /// <summary>
    /// A character of the game. Call <see cref="Say"/> with the player's line; the events have the answer.
    /// </summary>
    /// <remarks>
    /// Main thread only. Lines that are said while it answers wait in order. Disabling or destroying it
    /// cancels
    /// its answers and closes its conversation; code that awaits an answer gets an
    /// <see cref="OperationCanceledException"/>.
    /// </remarks>
    [AddComponentMenu("Sotto/Sotto Character")]
    public sealed class SottoCharacter : MonoBehaviour
    {
        static int _count;

        [Tooltip("Who it is and what it knows.")]
        public SottoSheet sheet;

        [Tooltip("Id of the model. Empty: the default model of the settings.")]
        public string model = "";

        [Tooltip("Settings of its engine. Empty: the default settings.")]
        public SottoSettings settings;

        [Tooltip("Id of its conversation. Empty: one of its own.")]
        public string sessionId = "";

        [Header("Speech")]
        [Tooltip("Tokens per second. 0: the engine's pace.")]
        [Min(0)]
        public float targetTps;

        [Tooltip("Maximum tokens of an answer. 0: no limit but the context.")]
        [Min(0)]
        public int maxTokens = 96;

        [Range(0, 2)]
        public float temperature = 0.2f;

        [Header("Priority")]
        [Tooltip("The player. Empty: normal priority at any distance.")]
        public Transform listener;

        [Tooltip("Foreground up to this distance: the engine preempts others for it.")]
        [Min(0)]
        public float nearDistance = 4;

        [Tooltip("Background beyond this distance.")]
        [Min(0)]
        public float farDistance = 20;

        [Header("Events")]
        [Tooltip("The speech so far, for a speech bubble.")]
        public UnityEvent<string> onText = new UnityEvent<string>();

        [Tooltip("Each sentence as soon as it is whole, for speech synthesis.")]
        public UnityEvent<string> onSentence = new UnityEvent<string>();

        [Tooltip("The whole speech.")]
        public UnityEvent<string> onDone = new UnityEvent<string>();

        [Tooltip("The decision as JSON, if the sheet decides.")]
        public UnityEvent<string> onDecision = new UnityEvent<string>();

        [Tooltip("Why an answer failed. A cancelled answer does not raise it.")]
        public UnityEvent<string> onFailed = new UnityEvent<string>();

        readonly List<Turn> _turns = new List<Turn>(); // the first one is under way if _speaks
        SottoSentences _sentences = new SottoSentences();
        SottoRuntime _runtime;
        SottoSession _session;
        SottoAnswer _load; // the load that the turns wait for
        string _spoken = "";
        bool _speaks;

        sealed class Turn
        {
            public string Text;
            public SottoRequest Request;
            public SottoAnswer Answer;
            public bool Failed; // its answer ends in the next frame
        }

        /// <summary>The runtime whose engine it uses.</summary>
        public SottoRuntime Runtime => _runtime;

        /// <summary>Its conversation: fork, pin or read it. Null while the component is disabled.</summary>
        public SottoSession Session => _session;

        /// <summary>Whether an answer is under way or waits.</summary>
        public bool IsBusy => _turns.Count > 0;

        /// <summary>The speech so far of the current or last answer.</summary>
        public string Spoken => _spoken;

        /// <summary>The priority of its next answer, by the distance to the listener.</summary>
        public SottoPriority Priority
        {
            get
            {
                if (listener == null)
                    return SottoPriority.Normal;
                var distance = Vector3.Distance(transform.position, listener.position);
                return distance <= nearDistance ? SottoPriority.Foreground
                    : distance <= farDistance ? SottoPriority.Normal : SottoPriority.Background;
            }
        }

        /// <summary>
        /// Says the player's line to the character. Never waits; can be bound to a UI event.
        /// </summary>
        public void Say(string text) => SayAsync(text);

        /// <summary>Says the player's line; awaiting gives the answer. Never waits.</summary>
        /// <param name="text">The line.</param>
        /// <param name="token">Cancels the answer.</param>
        /// <exception cref="SottoException">
        /// The component is disabled, there is no engine, or the call is not on the main thread.
        /// </exception>
        public SottoAnswer SayAsync(string text, CancellationToken token = default)
        {
            RequireSession("SottoCharacter.Say()");
            var turn = new Turn { Text = text ?? "", Request = NewRequest() };
            turn.Answer = _runtime.Engine.NewAnswer(turn.Request, token);
            turn.Answer.TextAdded += OnTextAdded;
            turn.Answer.Completed += OnCompleted;
            _turns.Add(turn);
            Advance();
            return turn.Answer;
        }

        /// <summary>Cancels all its answers. Never waits.</summary>
        public void Cancel()
        {
            foreach (var turn in _turns)
                turn.Answer.Cancel();
        }

        /// <summary>Sends the sheet again, after it has changed; the next answer knows it.</summary>
        public void RefreshSheet()
        {
            if (_session != null && sheet != null)
                _session.SetSystem(sheet.ToPrompt());
        }

        /// <summary>Reads the conversation for a save game; awaiting gives JSON for <see cref="Restore"/>.</summary>
        public SottoAnswer ReadAsync()
        {
            RequireSession("SottoCharacter.ReadAsync()");
            return _session.ReadAsync();
        }

        /// <summary>Replaces the conversation by one of a save game, its sheet included.</summary>
        /// <param name="json">What <see cref="ReadAsync"/> returned.</param>
        public void Restore(string json)
        {
            RequireSession("SottoCharacter.Restore()");
            Cancel();
            var id = _session.Id;
            _session.Dispose();
            _session = SottoSession.Open(
                _runtime.Engine, id, "", UsedModel, SottoJson.Field(json, "messages", out _));
        }

        void OnEnable()
        {
            _runtime = SottoRuntime.For(settings);
            if (_runtime.Engine == null)
                return; // the runtime has logged why
            var id = sessionId.Length > 0 ? sessionId : $"{name}#{++_count}";
            _session = SottoSession.Open(_runtime.Engine, id, sheet != null ? sheet.ToPrompt() : "", UsedModel);
            _load = _runtime.LoadModel(UsedModel); // so that the model is ready when the player speaks
        }

        void OnDisable()
        {
            var left = _turns.ToArray();
            _turns.Clear();
            _speaks = false;
            foreach (var turn in left)
            {
                turn.Answer.TextAdded -= OnTextAdded;
                turn.Answer.Completed -= OnCompleted;
                turn.Answer.Cancel();
            }
            if (_load != null)
                _load.Completed -= OnLoaded;
            _load = null;
            _session?.Dispose();
            _session = null;
        }

        string UsedModel => model.Length > 0 ? model : _runtime.settings.defaultModel;

        void RequireSession(string call)
        {
            if (_session == null)
                throw new SottoException(
                    Native.SOTTO_ERROR_STATE,
                    _runtime != null && _runtime.Problem.Length > 0
                        ? _runtime.Problem
                        : $"{call}: the character is disabled; enable the SottoCharacter before the call");
            _runtime.RequireEngine(call);
        }

        SottoRequest NewRequest()
        {
            var request = new SottoRequest
            {
                Temperature = Math.Round(temperature, 3),
                TargetTps = targetTps,
                Priority = Priority,
            };
            if (maxTokens > 0)
                request.MaxTokens = maxTokens;
            var schema = sheet != null ? sheet.ToSchema() : null;
            return schema != null ? request.Schema(schema) : request;
        }

        // Starts the first turn if none is under way and the model is ready.
        void Advance()
        {
            if (_speaks || _turns.Count == 0 || _turns[0].Failed)
                return;
            if (_load == null || _load.IsDone && _load.Status < 0)
                _load = _runtime.LoadModel(model);
            if (!_load.IsDone)
            {
                _load.Completed -= OnLoaded;
                _load.Completed += OnLoaded;
                return;
            }
            _speaks = true;
            _spoken = "";
            _sentences = new SottoSentences();
            var turn = _turns[0];
            try
            {
                _session.Start(turn.Answer, turn.Text, turn.Request);
            }
            catch (SottoException)
            {
                // the answer fails in the next frame, with the reason
            }
        }

        void OnLoaded(SottoAnswer load)
        {
            load.Completed -= OnLoaded;
            if (load.Status >= 0)
            {
                Advance();
                return;
            }
            foreach (var turn in _turns)
            {
                turn.Failed = true;
                _runtime.Engine?.FailLater(turn.Answer, load.Status, load.Error);
            }
        }

        void OnTextAdded(SottoAnswer answer, string text)
        {
            var before = _spoken;
            _spoken = sheet != null && sheet.decides ? SottoJson.Field(answer.Text, "say", out _) : answer.Text;
            if (_spoken.Length == before.Length)
                return;
            Raise(onText, _spoken);
            _sentences.Add(_spoken.Substring(before.Length));
            while (_sentences.TryNext(out var sentence))
                Raise(onSentence, sentence);
        }

        void OnCompleted(SottoAnswer answer)
        {
            var at = _turns.FindIndex(turn => turn.Answer == answer);
            if (at >= 0)
                _turns.RemoveAt(at);
            if (at == 0)
                _speaks = false;
            if (answer.Status >= 0)
                Finish(answer);
            else if (answer.Status != Native.SOTTO_ERROR_CANCELLED)
                Raise(onFailed, answer.Error);
            if (_session != null)
                Advance();
        }

        void Finish(SottoAnswer answer)
        {
            var spoken = _spoken; // a handler may say the next line
            if (_sentences.TryFlush(out var rest))
                Raise(onSentence, rest);
            if (sheet != null && sheet.decides)
                Raise(onDecision, answer.Text);
            Raise(onDone, spoken);
        }

        void Raise(UnityEvent<string> handlers, string text)
        {
            try
            {
                handlers.Invoke(text);
            }
            catch (Exception thrown)
            {
                Debug.LogException(thrown, this);
            }
        }
    }
}
