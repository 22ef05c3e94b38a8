// Routes an engine's events to the answers that wait for them.
using System;
using System.Collections.Generic;
using System.Threading;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>The answers under way of one engine, and the buffer of the events of one drain.</summary>
    internal sealed class SottoDispatcher
    {
        const int MaxEvents = 16384; // of one drain; later events stay queued until the next
        readonly SottoEngine _engine;
        readonly int _thread = Thread.CurrentThread.ManagedThreadId;
        readonly Dictionary<ulong, SottoAnswer> _answers = new Dictionary<ulong, SottoAnswer>();
        readonly List<SottoAnswer> _unsubmitted = new List<SottoAnswer>();
        readonly List<Failure> _failures = new List<Failure>();
        readonly List<SottoAnswer> _grown = new List<SottoAnswer>(); // got text in this drain, and report it at its end
        SottoEvent[] _events = new SottoEvent[64];
        bool _draining;

        readonly struct Failure
        {
            public readonly SottoAnswer Answer;
            public readonly int Status;
            public readonly string Error;

            public Failure(SottoAnswer answer, int status, string error)
            {
                Answer = answer;
                Status = status;
                Error = error;
            }
        }

        public SottoDispatcher(SottoEngine engine) => _engine = engine;

        public bool IsOnThread => Thread.CurrentThread.ManagedThreadId == _thread;

        /// <summary>Throws unless the calling thread is the one that created the engine.</summary>
        public void RequireThread(string call)
        {
            if (!IsOnThread)
                throw new SottoException(
                    Native.SOTTO_ERROR_STATE,
                    $"{call} was called on thread {Thread.CurrentThread.ManagedThreadId}: expected thread {_thread}, "
                    + "which created the engine (Unity's main thread); use SottoEngine.Submit() on other threads");
        }

        /// <summary>Adds an answer without a request yet; it may be cancelled meanwhile.</summary>
        public void AddUnsubmitted(SottoAnswer answer)
        {
            _unsubmitted.Add(answer);
            answer.Watch();
        }

        /// <summary>Connects an answer with its request, before any event of the request is routed.</summary>
        public void Add(SottoAnswer answer, ulong request)
        {
            if (!_unsubmitted.Remove(answer))
                answer.Watch();
            _answers.Add(request, answer);
            answer.Begin(request);
        }

        /// <summary>
        /// Ends an answer without a request in the next drain, so that no handler runs inside the caller.
        /// </summary>
        public void FailLater(SottoAnswer answer, int status, string error)
        {
            _unsubmitted.Remove(answer);
            _failures.Add(new Failure(answer, status, error));
        }

        /// <summary>Takes the events that are queued now, then routes them.</summary>
        public int Drain(Action<SottoEvent> other)
        {
            RequireThread("SottoEngine.Drain()");
            if (_draining)
                throw new SottoException(
                    Native.SOTTO_ERROR_STATE, "Drain() was called by a handler of Drain(): expected one call a frame");
            _draining = true;
            try
            {
                DropCancelled();
                var failed = _failures.Count;
                var taken = Take();
                EndFailures(failed);
                for (var i = 0; i < taken && !_engine.IsDisposed; ++i)
                    Route(_events[i], other);
                ReportTexts();
                Array.Clear(_events, 0, taken);
                return taken + failed;
            }
            finally
            {
                _draining = false;
            }
        }

        /// <summary>Ends every answer, because the engine is gone.</summary>
        public void EndAll()
        {
            var left = new List<SottoAnswer>(_answers.Values);
            left.AddRange(_unsubmitted);
            foreach (var failure in _failures)
                left.Add(failure.Answer);
            _answers.Clear();
            _unsubmitted.Clear();
            _failures.Clear();
            foreach (var answer in left)
                answer.Complete(Native.SOTTO_ERROR_CANCELLED, "", "the engine was disposed");
        }

        int Take()
        {
            var taken = 0;
            while (taken < MaxEvents && !_engine.IsDisposed && _engine.TryNextEvent(out var e))
            {
                if (taken == _events.Length)
                    Array.Resize(ref _events, 2 * taken);
                _events[taken++] = e;
            }
            return taken;
        }

        void DropCancelled()
        {
            for (var i = _unsubmitted.Count - 1; i >= 0; --i)
                if (_unsubmitted[i].IsCancelled)
                    FailLater(_unsubmitted[i], Native.SOTTO_ERROR_CANCELLED, "cancelled before it was submitted");
        }

        void EndFailures(int count)
        {
            for (var i = 0; i < count && _failures.Count > 0; ++i)
            {
                var failure = _failures[0];
                _failures.RemoveAt(0);
                failure.Answer.Complete(failure.Status, "", failure.Error);
            }
        }

        void ReportTexts()
        {
            for (var i = 0; i < _grown.Count; ++i)
                _grown[i].ReportText();
            _grown.Clear();
        }

        void Route(in SottoEvent e, Action<SottoEvent> other)
        {
            if (_answers.TryGetValue(e.Request, out var answer))
            {
                if (e.IsDone)
                    _answers.Remove(e.Request);
                answer.Receive(e);
                if (e.Kind == SottoEventKind.Text && answer.MarkGrown())
                    _grown.Add(answer);
            }
            else if (other != null)
            {
                try
                {
                    other(e);
                }
                catch (Exception thrown)
                {
                    Library.Complain(thrown);
                }
            }
        }
    }
}
