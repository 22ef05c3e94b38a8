// A request under way: its text so far, its end, and the means to await or cancel it.
using System;
using System.Collections.Generic;
using System.Text;
using System.Threading;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>A call of a tool that the model requests.</summary>
    public readonly struct SottoToolCall
    {
        /// <summary>Name of the tool.</summary>
        public readonly string Name;

        /// <summary>The whole call as in a response's `tool_calls`.</summary>
        public readonly string Json;

        internal SottoToolCall(string name, string json)
        {
            Name = name;
            Json = json;
        }
    }

    /// <summary>A request under way. Await it, or read it each frame.</summary>
    /// <remarks>
    /// It changes only inside <see cref="SottoEngine.Drain"/>, on the thread of that call. Awaiting gives the
    /// text of a completion, and <see cref="Json"/> of every other operation. It throws a
    /// <see cref="SottoException"/> if the request failed, and an <see cref="OperationCanceledException"/> if
    /// it was cancelled.
    /// </remarks>
    public sealed partial class SottoAnswer
    {
        static readonly Action<object> CancelOnToken = answer => ((SottoAnswer)answer).Cancel();
        readonly SottoEngine _engine;
        readonly CancellationToken _token;
        readonly bool _isText;
        readonly StringBuilder _text = new StringBuilder();
        readonly List<SottoToolCall> _calls = new List<SottoToolCall>();
        CancellationTokenRegistration _registration;
        SottoHandlers _textAdded, _progressed, _completed, _continuations;
        StringBuilder _reasoning; // null until the first part arrives
        string _joinedText = "", _joinedReasoning = "";
        bool _hasGrown; // TextGrew has not reported the latest text
        long _request; // a ulong; Interlocked has no such overload in .NET Standard 2.1
        volatile bool _cancelled;

        internal SottoAnswer(SottoEngine engine, bool isText, CancellationToken token)
        {
            _engine = engine;
            _isText = isText;
            _token = token;
        }

        /// <summary>Raised for each part of the text; the handler gets that part.</summary>
        public event Action<SottoAnswer, string> TextAdded
        {
            add => _textAdded.Add(value);
            remove => _textAdded.Remove(value);
        }

        /// <summary>Raised when a load or an image advances.</summary>
        public event Action<SottoAnswer> Progressed
        {
            add => _progressed.Add(value);
            remove => _progressed.Remove(value);
        }

        /// <summary>Raised once, at the end, before awaiting code continues.</summary>
        public event Action<SottoAnswer> Completed
        {
            add => _completed.Add(value);
            remove => _completed.Remove(value);
        }

        /// <summary>Id of the request. 0: not submitted yet.</summary>
        public ulong Request => (ulong)Interlocked.Read(ref _request);

        /// <summary>The text so far, of the first choice.</summary>
        public string Text => Joined(_text, ref _joinedText);

        /// <summary>The reasoning so far, of the first choice.</summary>
        public string Reasoning => _reasoning != null ? Joined(_reasoning, ref _joinedReasoning) : "";

        /// <summary>The response, once the request is done.</summary>
        public string Json { get; private set; } = "";

        /// <summary>Why the request failed, or "".</summary>
        public string Error { get; private set; } = "";

        /// <summary>
        /// The result, one of the <c>Native.SOTTO_*</c> statuses, once the request is done.
        /// </summary>
        public int Status { get; private set; }

        /// <summary>Why the text ended.</summary>
        public SottoFinish Finish { get; private set; }

        /// <summary>Tokens generated so far.</summary>
        public int Tokens { get; private set; }

        /// <summary>Progress of a load or an image, 0 to 1.</summary>
        public float Progress { get; private set; }

        /// <summary>Whether the request has ended.</summary>
        public bool IsDone { get; private set; }

        /// <summary>Calls of tools so far.</summary>
        public IReadOnlyList<SottoToolCall> ToolCalls => _calls;

        /// <summary>
        /// Requests the end. The answer completes in a later Drain. Any thread; never waits.
        /// </summary>
        public void Cancel()
        {
            _cancelled = true;
            if (Request != 0)
                _engine.TryCancel(Request);
        }

        /// <summary>Changes the pace from the next token on. 0: the engine's.</summary>
        /// <returns>Whether the request is live.</returns>
        public bool SetTargetTps(float tps) => Request != 0 && !IsDone && _engine.SetRequestTps(Request, tps);

        /// <summary>Whether the game cancelled the answer by <see cref="Cancel"/> or by its token.</summary>
        internal bool IsCancelled => _cancelled;

        /// <summary>
        /// Called at most once a drain if text was added: at the end of the drain, or before Completed.
        /// </summary>
        internal Action<SottoAnswer> TextGrew { get; set; }

        /// <summary>Called for each part of a result that is no text, with the JSON that describes it.</summary>
        internal Action<byte[], string> DataReceived { get; set; }

        /// <summary>Connects the answer with its request.</summary>
        internal void Begin(ulong request)
        {
            Interlocked.Exchange(ref _request, (long)request);
            if (_cancelled)
                _engine.TryCancel(request);
        }

        internal void Watch()
        {
            if (_token.CanBeCanceled)
                _registration = _token.Register(CancelOnToken, this);
        }

        internal void Receive(in SottoEvent e)
        {
            Tokens = Math.Max(Tokens, e.Tokens);
            var first = e.Index == 0; // of the choices
            switch (e.Kind)
            {
                case SottoEventKind.Text:
                    if (first)
                        AddText(e.Text);
                    break;
                case SottoEventKind.Reasoning:
                    if (first)
                        (_reasoning ?? (_reasoning = new StringBuilder())).Append(e.Text);
                    break;
                case SottoEventKind.ToolCall:
                    _calls.Add(new SottoToolCall(e.Text, e.Json));
                    break;
                case SottoEventKind.Progress:
                    Progress = e.Progress;
                    Raise(_progressed);
                    break;
                case SottoEventKind.Data:
                    ReceiveData(e.Data, e.Json);
                    break;
                case SottoEventKind.ChoiceDone:
                    Finish = first ? e.Finish : Finish;
                    break;
                case SottoEventKind.RequestDone:
                    Complete(e.Status, e.Json, e.Error);
                    break;
            }
        }

        /// <summary>Returns true if the drain has to call <see cref="ReportText"/> at its end.</summary>
        internal bool MarkGrown()
        {
            if (TextGrew == null || _hasGrown)
                return false;
            _hasGrown = true;
            return true;
        }

        /// <summary>Calls <see cref="TextGrew"/> if it has not reported the latest text.</summary>
        internal void ReportText()
        {
            if (!_hasGrown)
                return;
            _hasGrown = false;
            if (TextGrew != null)
                Guarded(TextGrew);
        }

        internal void Complete(int status, string json, string error)
        {
            if (IsDone)
                return;
            ReportText();
            Status = status;
            Json = json;
            Error = error;
            Progress = status >= 0 ? 1 : Progress;
            IsDone = true;
            _registration.Dispose();
            Raise(_completed);
            var continuations = _continuations.Each;
            _continuations = default;
            foreach (var continuation in continuations)
                Guarded((Action)continuation);
        }

        void ReceiveData(byte[] data, string json)
        {
            try
            {
                DataReceived?.Invoke(data, json);
            }
            catch (Exception thrown) // such as of a description that a backend wrote wrongly
            {
                Library.Complain(thrown);
            }
        }

        void AddText(string text)
        {
            _text.Append(text);
            foreach (var handler in _textAdded.Each)
                try
                {
                    ((Action<SottoAnswer, string>)handler)(this, text);
                }
                catch (Exception thrown)
                {
                    Library.Complain(thrown);
                }
        }

        void Raise(in SottoHandlers handlers)
        {
            foreach (var handler in handlers.Each)
                Guarded((Action<SottoAnswer>)handler);
        }

        void Guarded(Action<SottoAnswer> handler)
        {
            try
            {
                handler(this);
            }
            catch (Exception thrown)
            {
                Library.Complain(thrown);
            }
        }

        static void Guarded(Action continuation)
        {
            try
            {
                continuation();
            }
            catch (Exception thrown)
            {
                Library.Complain(thrown);
            }
        }

        static string Joined(StringBuilder text, ref string joined) =>
            joined.Length == text.Length ? joined : joined = text.ToString();
    }
}
