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
        Action _continuation;
        string _joined = "";
        long _request; // a ulong; Interlocked has no such overload in .NET Standard 2.1
        volatile bool _cancelled;

        internal SottoAnswer(SottoEngine engine, bool isText, CancellationToken token)
        {
            _engine = engine;
            _isText = isText;
            _token = token;
        }

        /// <summary>Raised for each part of the text; the handler gets that part.</summary>
        public event Action<SottoAnswer, string> TextAdded;

        /// <summary>Raised when a load advances.</summary>
        public event Action<SottoAnswer> Progressed;

        /// <summary>Raised once, at the end, before awaiting code continues.</summary>
        public event Action<SottoAnswer> Completed;

        /// <summary>Id of the request. 0: not submitted yet.</summary>
        public ulong Request => (ulong)Interlocked.Read(ref _request);

        /// <summary>The text so far, of the first choice.</summary>
        public string Text => _joined.Length == _text.Length ? _joined : _joined = _text.ToString();

        /// <summary>The reasoning so far.</summary>
        public string Reasoning { get; private set; } = "";

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

        /// <summary>Progress of a load, 0 to 1.</summary>
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

        internal bool IsCancelled => _cancelled;

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
                    Reasoning += first ? e.Text : "";
                    break;
                case SottoEventKind.ToolCall:
                    _calls.Add(new SottoToolCall(e.Text, e.Json));
                    break;
                case SottoEventKind.Progress:
                    Progress = e.Progress;
                    Raise(Progressed);
                    break;
                case SottoEventKind.ChoiceDone:
                    Finish = first ? e.Finish : Finish;
                    break;
                case SottoEventKind.RequestDone:
                    Complete(e.Status, e.Json, e.Error);
                    break;
            }
        }

        void AddText(string text)
        {
            _text.Append(text);
            Raise(TextAdded, text);
        }

        internal void Complete(int status, string json, string error)
        {
            if (IsDone)
                return;
            Status = status;
            Json = json;
            Error = error;
            Progress = status >= 0 ? 1 : Progress;
            IsDone = true;
            _registration.Dispose();
            Raise(Completed);
            var continuation = _continuation;
            _continuation = null;
            if (continuation == null)
                return;
            foreach (var one in continuation.GetInvocationList())
                Guarded((Action)one);
        }

        void Raise(Action<SottoAnswer> handlers)
        {
            if (handlers == null)
                return;
            try
            {
                handlers(this);
            }
            catch (Exception thrown)
            {
                Library.Complain(thrown);
            }
        }

        void Raise(Action<SottoAnswer, string> handlers, string text)
        {
            if (handlers == null)
                return;
            try
            {
                handlers(this, text);
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
    }
}
