// The calls whose results are awaited.
using System;
using System.Threading;
using Sotto.Interop;

namespace Sotto
{
    public sealed unsafe partial class SottoEngine
    {
        [ThreadStatic]
        static SottoJsonWriter _scratch; // body of the request that is being submitted

        readonly SottoDispatcher _dispatcher;

        /// <summary>
        /// Takes the events that are queued now: completes answers, then calls awaiting code.
        /// </summary>
        /// <remarks>
        /// Call it once a frame, on the thread that created the engine. Events of requests that a handler
        /// submits come in a later call, so a handler that asks again on an error does not loop. An exception
        /// of a handler is logged, and the other events are still delivered. A call without events allocates
        /// nothing; a text event allocates its string. Do not mix it with <see cref="TryNextEvent"/>.
        /// </remarks>
        /// <param name="other">
        /// Gets the events of requests that nothing awaits. Null: drops these events.
        /// </param>
        /// <returns>The number of events.</returns>
        public int Drain(Action<SottoEvent> other = null)
        {
            if (_engine != null)
                return _dispatcher.Drain(other);
            _dispatcher.RequireThread("SottoEngine.Drain()");
            _dispatcher.EndAll(); // disposed on another thread
            return 0;
        }

        /// <summary>Submits a request. Never waits; use the result with await.</summary>
        /// <param name="request">The request, copied.</param>
        /// <param name="token">Cancels the request.</param>
        public SottoAnswer SubmitAsync(SottoRequest request, CancellationToken token = default)
        {
            var answer = NewAnswer(request, token);
            Start(answer, request);
            return answer;
        }

        /// <summary>
        /// Submits a chat. Never waits; `string line = await engine.ChatAsync(request, token)`.
        /// </summary>
        public SottoAnswer ChatAsync(SottoRequest request, CancellationToken token = default) =>
            request.Op == SottoOp.Chat
                ? SubmitAsync(request, token)
                : throw new SottoException(
                    Native.SOTTO_ERROR_ARGUMENT, $"invalid Op '{request.Op}': expected Chat; use SubmitAsync()");

        /// <summary>
        /// Submits a request. Never waits; returns the id that its events carry. Any thread.
        /// </summary>
        public ulong Submit(SottoRequest request) => Submit(request, null, null);

        /// <summary>Loads a model. Never waits; the answer has the progress.</summary>
        public SottoAnswer LoadModelAsync(SottoModel model, CancellationToken token = default) =>
            Await(LoadModel(model.Id, model.Path, model.Backend, model.OptionsJson()), token);

        /// <summary>Loads a model with default options. Never waits; the answer has the progress.</summary>
        public SottoAnswer LoadModelAsync(string id, CancellationToken token = default) =>
            LoadModelAsync(new SottoModel(id), token);

        /// <summary>
        /// Plans a model without loading it. Awaiting gives the plan as JSON; see budget.h.
        /// </summary>
        /// <param name="model">The model.</param>
        /// <param name="budget">
        /// Bytes for this model alone. 0: the bytes that the engine's budget has left.
        /// </param>
        /// <param name="token">Cancels the request.</param>
        public SottoAnswer PlanModelAsync(SottoModel model, ulong budget = 0, CancellationToken token = default) =>
            Await(PlanModel(model.Id, budget, model.Path, model.Backend, model.OptionsJson()), token);

        /// <summary>Unloads a model.</summary>
        public SottoAnswer UnloadModelAsync(string id, CancellationToken token = default) =>
            Await(UnloadModel(id), token);

        /// <summary>
        /// Lets a submitted request of the engine's queue be awaited. Call it before the next Drain.
        /// </summary>
        public SottoAnswer Await(ulong request, CancellationToken token = default)
        {
            RequireThread("SottoEngine.Await()");
            var answer = new SottoAnswer(this, false, token);
            _dispatcher.Add(answer, request);
            return answer;
        }

        internal void RequireThread(string call) => _dispatcher.RequireThread(call);

        /// <summary>Returns an answer whose request is submitted later, by <see cref="Start"/>.</summary>
        internal SottoAnswer NewAnswer(SottoRequest request, CancellationToken token)
        {
            if ((request.Flags & SottoFlags.Private) != 0)
                throw new SottoException(
                    Native.SOTTO_ERROR_ARGUMENT, "invalid Flags 'Private': expected None or Chunks; use WaitDone()");
            var isText = request.Op == SottoOp.Chat || request.Op == SottoOp.Completion || request.Op == SottoOp.Infill;
            return NewAnswer(isText, token);
        }

        internal SottoAnswer NewAnswer(bool isText, CancellationToken token)
        {
            RequireThread("SottoEngine.SubmitAsync()");
            var answer = new SottoAnswer(this, isText, token);
            _dispatcher.AddUnsubmitted(answer);
            return answer;
        }

        internal void StartLoad(SottoAnswer answer, SottoModel model)
        {
            try
            {
                _dispatcher.Add(answer, LoadModel(model.Id, model.Path, model.Backend, model.OptionsJson()));
            }
            catch (SottoException refused)
            {
                _dispatcher.FailLater(answer, refused.Status, refused.Message);
            }
        }

        internal void Start(SottoAnswer answer, SottoRequest request, string session = null, string line = null)
        {
            try
            {
                _dispatcher.Add(answer, Submit(request, session, line));
            }
            catch (SottoException refused)
            {
                _dispatcher.FailLater(answer, refused.Status, refused.Message);
                throw;
            }
        }

        internal void FailLater(SottoAnswer answer, int status, string error) =>
            _dispatcher.FailLater(answer, status, error);

        internal ulong Submit(SottoRequest request, string session, string line)
        {
            var body = (_scratch ?? (_scratch = new SottoJsonWriter(4096))).Clear();
            request.Write(body, session, line);
            fixed (byte* data = body.Buffer)
                return Submit(
                    request.Op, new sotto_str { data = data, size = (UIntPtr)body.Size }, request.UserData,
                    request.Flags, request.TargetTps, request.Priority, request.DeadlineNs);
        }

        /// <summary>Cancels a request; no effect if it or the engine has ended. Any thread.</summary>
        internal void TryCancel(ulong request)
        {
            try
            {
                Cancel(request);
            }
            catch (SottoException) when (IsDisposed)
            {
                // disposing ended the request
            }
        }
    }
}
