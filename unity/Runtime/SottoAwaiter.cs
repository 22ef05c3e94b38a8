// Lets `await` wait for an answer: continues on the thread that drains the engine, without a Task.
using System;
using System.Runtime.CompilerServices;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>What `await` uses of a <see cref="SottoAnswer"/>.</summary>
    public readonly struct SottoAwaiter : ICriticalNotifyCompletion
    {
        readonly SottoAnswer _answer;

        internal SottoAwaiter(SottoAnswer answer) => _answer = answer;

        /// <summary>Whether the answer is complete, so that awaiting continues at once.</summary>
        public bool IsCompleted => _answer.IsDone;

        /// <summary>Returns the result of a complete answer. Does not wait.</summary>
        /// <exception cref="SottoException">The request failed, or has not ended.</exception>
        /// <exception cref="OperationCanceledException">The request was cancelled.</exception>
        public string GetResult() => _answer.Result();

        /// <summary>Runs the continuation when the answer is complete.</summary>
        public void OnCompleted(Action continuation) => _answer.Continue(continuation);

        /// <summary>Runs the continuation when the answer is complete.</summary>
        public void UnsafeOnCompleted(Action continuation) => _answer.Continue(continuation);
    }

    public sealed partial class SottoAnswer
    {
        /// <summary>Lets `await` wait for this answer, on the thread that created the engine.</summary>
        /// <exception cref="SottoException">The call is on another thread.</exception>
        public SottoAwaiter GetAwaiter()
        {
            _engine.RequireThread("await");
            return new SottoAwaiter(this);
        }

        internal string Result()
        {
            if (!IsDone)
                throw new SottoException(
                    Native.SOTTO_ERROR_STATE,
                    "the answer is not complete: expected `await`; GetResult() does not wait, and a frame must not");
            if (Status >= 0)
                return _isText ? Text : Json;
            if (Status == Native.SOTTO_ERROR_CANCELLED)
                throw new OperationCanceledException(Error, _token);
            throw new SottoException(Status, Error);
        }

        internal void Continue(Action continuation)
        {
            if (IsDone)
                continuation();
            else
                _continuations.Add(continuation);
        }
    }
}
