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
    /// cancels its answers and closes its conversation; code that awaits an answer gets an
    /// <see cref="OperationCanceledException"/>.
    /// </remarks>
    [AddComponentMenu("Sotto/Sotto Character")]
    public sealed partial class SottoCharacter : MonoBehaviour
    {
        [Tooltip("Who it is and what it knows.")]
        public SottoSheet sheet;

        [Tooltip("Id of the model. Empty: the default model of the settings.")]
        public string model = "";

        [Tooltip("Settings of its engine. Empty: the default settings.")]
        public SottoSettings settings;

        [Tooltip("Id of its conversation, which no other enabled character has. Empty: one is made up.")]
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
        [Tooltip("The speech so far, for a speech bubble; at most once a frame.")]
        public UnityEvent<string> onText = new UnityEvent<string>();

        [Tooltip("Each sentence as soon as it is whole, for speech synthesis.")]
        public UnityEvent<string> onSentence = new UnityEvent<string>();

        [Tooltip("The whole speech.")]
        public UnityEvent<string> onDone = new UnityEvent<string>();

        [Tooltip("The decision as JSON, if the sheet decides.")]
        public UnityEvent<string> onDecision = new UnityEvent<string>();

        [Tooltip("Why an answer failed. An answer that the character or its caller cancels does not raise it.")]
        public UnityEvent<string> onFailed = new UnityEvent<string>();

        readonly List<Turn> _turns = new List<Turn>(); // the first one is under way if _speaks
        SottoRuntime _runtime;
        string _spoken = "";
        bool _speaks;

        sealed class Turn
        {
            public readonly SottoSentences Sentences = new SottoSentences();
            public string Text;
            public SottoRequest Request;
            public SottoAnswer Answer;
            public SottoAnswer Load; // of its model; the line fails if this load fails or the model is unloaded
            public bool Decides; // the answer is JSON, whose field `say` is spoken
            public bool Failed; // its answer ends in the next frame
            public bool BeganRecall, EndedRecall; // of the memories that enter its prompt
            public List<SottoMemory> Memories; // null: none were recalled
        }

        /// <summary>The runtime whose engine it uses.</summary>
        public SottoRuntime Runtime => _runtime;

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
        /// Says the player's line to the character. Never waits; can be bound to a UI event. Where
        /// <see cref="SayAsync"/> throws, it raises onFailed in the next frame.
        /// </summary>
        public void Say(string text)
        {
            try
            {
                SayAsync(text);
            }
            catch (SottoException refused)
            {
                FailLater(refused.Message);
            }
        }

        /// <summary>Says the player's line; awaiting gives the answer. Never waits.</summary>
        /// <param name="text">The line.</param>
        /// <param name="token">Cancels the answer.</param>
        /// <exception cref="SottoException">
        /// The component is disabled, there is no engine or no conversation, or the call is not on the main thread.
        /// </exception>
        public SottoAnswer SayAsync(string text, CancellationToken token = default)
        {
            RequireSession("SottoCharacter.Say()");
            var turn = new Turn
            {
                Text = text ?? "",
                Request = NewRequest(),
                Load = _runtime.LoadModel(UsedModel), // a new one if the last failed or the model was unloaded
                Decides = sheet != null && sheet.decides,
            };
            turn.Answer = _runtime.Engine.NewAnswer(turn.Request, token);
            if (!turn.Load.IsDone)
            {
                turn.Load.Completed -= OnLoaded; // of an earlier turn
                turn.Load.Completed += OnLoaded;
            }
            turn.Answer.TextGrew = OnTextGrew;
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

        void OnEnable()
        {
            _runtime = SottoRuntime.For(settings);
            if (_runtime.Engine == null)
                return; // the runtime has logged why
            OpenOwnSession();
            _runtime.LoadModel(UsedModel); // so that the model is ready when the player speaks
            OpenMemory();
        }

        void OnDisable()
        {
            var left = _turns.ToArray();
            _turns.Clear();
            _speaks = false;
            foreach (var turn in left)
            {
                turn.Answer.TextGrew = null;
                turn.Answer.Completed -= OnCompleted;
                turn.Load.Completed -= OnLoaded;
                turn.Answer.Cancel();
            }
            CloseMemory();
            CloseSession();
        }

        bool IsEngineAlive => _runtime != null && _runtime.Engine != null && !_runtime.Engine.IsDisposed;

        string UsedModel => model.Length > 0 ? model : _runtime.settings.defaultModel;

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

        // Starts the first turn if none is under way, and the conversation and the model are ready.
        void Advance()
        {
            if (_speaks || _turns.Count == 0 || _turns[0].Failed || _session == null || !IsEngineAlive)
                return;
            var turn = _turns[0];
            if (!turn.Load.IsDone || !_opening.IsDone)
                return; // OnLoaded and OnOpened continue
            if (!_runtime.IsCurrent(turn.Load))
            {
                FailWaiting(Native.SOTTO_ERROR_CANCELLED, "the model was unloaded before it answered", turn.Load);
                return;
            }
            if (WaitsForMemories(turn))
                return; // OnRecalled continues
            _speaks = true;
            _spoken = "";
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
                Advance();
            else
                FailWaiting(load.Status, load.Error, load);
        }

        // Ends the turns that were not submitted, in the next drain: those of a load, or all.
        void FailWaiting(int status, string error, SottoAnswer load = null)
        {
            foreach (var turn in _turns)
            {
                if (turn.Failed || turn.Answer.Request != 0 || load != null && turn.Load != load)
                    continue;
                turn.Failed = true;
                _runtime.Engine?.FailLater(turn.Answer, status, error);
            }
        }

        // Raises onFailed in the next frame, so that a handler that says the next line on each error does not loop.
        void FailLater(string error)
        {
            if (_runtime == null)
                Debug.LogError(error, this);
            else
                _runtime.CallLater(() =>
                {
                    if (this != null)
                        Raise(onFailed, error);
                });
        }

        Turn Speaking => _speaks && _turns.Count > 0 ? _turns[0] : null;

        void OnTextGrew(SottoAnswer answer)
        {
            var turn = Speaking;
            if (turn == null || turn.Answer != answer)
                return;
            var spoken = turn.Decides ? SottoJson.Field(answer.Text, "say", out _) : answer.Text;
            if (spoken.Length <= _spoken.Length)
                return;
            turn.Sentences.Add(spoken.Substring(_spoken.Length));
            _spoken = spoken;
            Raise(onText, spoken);
            while (Speaking == turn && turn.Sentences.TryNext(out var sentence)) // a handler may end the turn
                Raise(onSentence, sentence);
        }

        void OnCompleted(SottoAnswer answer)
        {
            var at = _turns.FindIndex(one => one.Answer == answer);
            if (at < 0)
                return; // a handler has disabled the character
            var turn = _turns[at];
            _turns.RemoveAt(at);
            if (at == 0)
                _speaks = false;
            if (answer.Status >= 0)
                Finish(turn);
            else if (answer.Status != Native.SOTTO_ERROR_CANCELLED || !answer.IsCancelled && IsEngineAlive)
                Raise(onFailed, answer.Error);
            Advance();
        }

        void Finish(Turn turn)
        {
            var spoken = _spoken; // a handler may say the next line
            Remember(turn, spoken);
            if (turn.Sentences.TryFlush(out var rest))
                Raise(onSentence, rest);
            if (turn.Decides)
                Raise(onDecision, turn.Answer.Text);
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
