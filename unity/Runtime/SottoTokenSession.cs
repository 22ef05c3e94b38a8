// Sessions that hold tokens instead of messages, for tools that work on sequences; see token_session.h.
using System;
using System.Collections.Generic;

namespace Sotto
{
    /// <summary>A sequence of tokens that an engine stores under an id.</summary>
    /// <remarks>
    /// No method waits, as with <see cref="SottoSession"/>. A completion appends its prompt and its answer, and
    /// prefills only what the KV cache lacks. Edits work on positions, which <see cref="Shift"/> changes; their last
    /// event's <c>Json</c> has <c>tokens</c>, the number of tokens, and <c>end</c>, the last position or -1.
    /// </remarks>
    public sealed class SottoTokenSession : IDisposable
    {
        readonly SottoEngine _engine;
        bool _closed;

        /// <summary>The id.</summary>
        public readonly string Id;

        /// <summary>The request that opens the session. 0 if the session was open before.</summary>
        public readonly ulong Opening;

        /// <summary>A session that is open already.</summary>
        public SottoTokenSession(SottoEngine engine, string id) : this(engine, id, 0)
        {
        }

        /// <summary>Opens a session.</summary>
        /// <param name="engine">The engine that stores the session.</param>
        /// <param name="id">1 to 128 bytes of UTF-8.</param>
        /// <param name="tokens">The tokens. Null: none yet.</param>
        /// <param name="model">Default model of the session. Empty: the model of its first request.</param>
        /// <param name="user">User data, copied into the event of the opening.</param>
        public static SottoTokenSession Open(
            SottoEngine engine, string id, IEnumerable<int> tokens = null, string model = "", ulong user = 0)
        {
            var body = Add(About(id).Name("tokens"), tokens);
            if (!string.IsNullOrEmpty(model))
                body.Name("model").Value(model);
            return new SottoTokenSession(engine, id, Submit(engine, SottoOp.OpenSession, body, user));
        }

        /// <summary>Submits tokens; they and the answer's tokens are appended when the answer is complete.</summary>
        /// <param name="prompt">The tokens. Null: only the answer is appended.</param>
        /// <param name="more">Further fields of the request, each with a comma before it.</param>
        /// <param name="user">User data, copied into each event.</param>
        /// <param name="flags">Request flags.</param>
        public ulong Complete(
            IEnumerable<int> prompt, string more = "", ulong user = 0, SottoFlags flags = SottoFlags.None)
        {
            var body = Add(About(Id).Name("return_tokens").Value(true).Name("prompt"), prompt);
            return _engine.Submit(SottoOp.Completion, body + more + "}", user, flags);
        }

        /// <summary>Drops the tokens at positions <paramref name="from"/> to before <paramref name="to"/>.</summary>
        /// <param name="from">First position.</param>
        /// <param name="to">Position after the last. -1: the end.</param>
        /// <param name="user">User data, copied into the event.</param>
        public ulong Cut(int from, int to = -1, ulong user = 0) => Submit(_engine, SottoOp.EditSession, Edit("cut", from, to), user);

        /// <summary>Adds to the positions <paramref name="from"/> to before <paramref name="to"/>.</summary>
        /// <param name="delta">Number to add. The tokens must keep their order.</param>
        /// <param name="from">First position.</param>
        /// <param name="to">Position after the last. -1: the end.</param>
        /// <param name="user">User data, copied into the event.</param>
        public ulong Shift(int delta, int from = 0, int to = -1, ulong user = 0) =>
            Submit(_engine, SottoOp.EditSession, Edit("shift", from, to).Name("delta").Value(delta), user);

        /// <summary>Opens a session as a copy of a range, or replaces its tokens.</summary>
        /// <param name="id">Id of the copy.</param>
        /// <param name="from">First position.</param>
        /// <param name="to">Position after the last. -1: the end.</param>
        /// <param name="user">User data, copied into the event.</param>
        public SottoTokenSession Copy(string id, int from = 0, int to = -1, ulong user = 0)
        {
            var body = Edit("copy", from, to).Name("to_session").Value(id ?? "");
            return new SottoTokenSession(_engine, id, Submit(_engine, SottoOp.EditSession, body, user));
        }

        /// <summary>Reads the tokens: the last event's <c>Json</c> has them as <c>tokens</c>.</summary>
        public ulong Read(ulong user = 0, SottoFlags flags = SottoFlags.None) =>
            Submit(_engine, SottoOp.ReadSession, About(Id), user, flags);

        /// <summary>Reads the KV cache of the session, as <see cref="SottoSession.ReadState"/> does.</summary>
        public ulong ReadState(ulong user = 0, SottoFlags flags = SottoFlags.None) =>
            Submit(_engine, SottoOp.SaveState, About(Id), user, flags);

        /// <summary>Closes the session. A second call does nothing.</summary>
        public void Dispose()
        {
            if (_closed)
                return;
            _closed = true;
            try
            {
                Submit(_engine, SottoOp.CloseSession, About(Id), 0);
            }
            catch (SottoException) when (_engine.IsDisposed)
            {
                // the engine has closed the session
            }
        }

        SottoTokenSession(SottoEngine engine, string id, ulong opening)
        {
            _engine = engine;
            Id = id;
            Opening = opening;
        }

        SottoJsonWriter Edit(string action, int from, int to) =>
            About(Id).Name("action").Value(action).Name("from").Value(from).Name("to").Value(to);

        static SottoJsonWriter About(string id) =>
            new SottoJsonWriter().BeginObject().Name("session").Value(id ?? "");

        static SottoJsonWriter Add(SottoJsonWriter body, IEnumerable<int> tokens)
        {
            body.BeginArray();
            foreach (var token in tokens ?? Array.Empty<int>())
                body.Value(token);
            return body.EndArray();
        }

        static ulong Submit(
            SottoEngine engine, SottoOp op, SottoJsonWriter body, ulong user, SottoFlags flags = SottoFlags.None) =>
            engine.Submit(op, body.EndObject().ToString(), user, flags);
    }
}
