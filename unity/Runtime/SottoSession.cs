// Conversations that the engine stores, so that a request sends only new messages.
using System;
using System.Threading;

namespace Sotto
{
    /// <summary>
    /// A conversation that an engine stores under an id. Open it, chat with it, dispose it.
    /// </summary>
    /// <remarks>
    /// No method waits. Each submits a request, whose events report the result, as with
    /// <see cref="SottoEngine.Submit(SottoRequest)"/>. Requests about one session take effect in the order of
    /// submission, so a chat may follow the opening at once. A turn is stored when its answer is complete; a
    /// turn that is cancelled or fails leaves the session unchanged. A session answers one chat at a time.
    /// </remarks>
    public sealed class SottoSession : IDisposable
    {
        static readonly SottoRequest Defaults = new SottoRequest();
        readonly SottoEngine _engine;
        bool _closed;

        /// <summary>
        /// The id. Any request may continue the session: <c>new SottoRequest { Session = "mara" }</c>.
        /// </summary>
        public readonly string Id;

        /// <summary>The request that opens the session. 0 if the session was open before.</summary>
        public readonly ulong Opening;

        /// <summary>A session that is open already.</summary>
        public SottoSession(SottoEngine engine, string id) : this(engine, id, 0)
        {
        }

        /// <summary>Opens a session.</summary>
        /// <param name="engine">The engine that stores the session.</param>
        /// <param name="id">1 to 128 bytes of UTF-8.</param>
        /// <param name="system">
        /// The system message, such as a character sheet; text, not JSON. Empty: none.
        /// </param>
        /// <param name="model">Default model of the session. Empty: the model of its first request.</param>
        /// <param name="messages">Earlier messages: a JSON array of OpenAI messages. Empty: none.</param>
        /// <param name="user">User data, copied into the event of the opening.</param>
        public static SottoSession Open(
            SottoEngine engine, string id, string system = "", string model = "", string messages = "",
            ulong user = 0)
        {
            var body = About(id);
            if (!string.IsNullOrEmpty(messages))
                body.Name("messages").Raw(messages);
            if (!string.IsNullOrEmpty(system))
                body.Name("system").Value(system);
            if (!string.IsNullOrEmpty(model))
                body.Name("model").Value(model);
            return new SottoSession(engine, id, Submit(engine, SottoOp.OpenSession, body, user));
        }

        /// <summary>
        /// Opens another session that starts as a copy of this one and shares its messages.
        /// </summary>
        /// <param name="id">Id of the new session.</param>
        /// <param name="keep">Number of first messages to copy. Negative: all.</param>
        /// <param name="user">User data, copied into the event of the opening.</param>
        public SottoSession Fork(string id, int keep = -1, ulong user = 0)
        {
            var body = About(id).Name("from").Value(Id);
            if (keep >= 0)
                body.Name("keep").Value(keep);
            return new SottoSession(_engine, id, Submit(_engine, SottoOp.OpenSession, body, user));
        }

        /// <summary>Submits the player's line; the session's model answers.</summary>
        /// <param name="text">What the player says.</param>
        /// <param name="more">Further fields of the request, each with a comma before it.</param>
        /// <param name="user">User data, copied into each event.</param>
        /// <param name="flags">Request flags.</param>
        /// <param name="targetTps">Pace in tokens per second. 0: the engine's.</param>
        /// <param name="priority">Scheduling priority.</param>
        /// <param name="deadlineNs">Deadline of the first token, in ns. 0: none.</param>
        public ulong Say(
            string text, string more = "", ulong user = 0, SottoFlags flags = SottoFlags.None,
            float targetTps = 0, SottoPriority priority = SottoPriority.Normal, ulong deadlineNs = 0)
        {
            var body = About(Id).Name("messages").BeginArray().BeginObject();
            body.Name("role").Value("user").Name("content").Value(text).EndObject().EndArray();
            return _engine.Submit(SottoOp.Chat, body + more + "}", user, flags, targetTps, priority, deadlineNs);
        }

        /// <summary>
        /// Submits the player's line with the fields of a request, whose messages precede the line.
        /// </summary>
        public ulong Say(string text, SottoRequest request) => _engine.Submit(request, Id, text);

        /// <summary>Submits the player's line; await the answer.</summary>
        /// <param name="text">What the player says.</param>
        /// <param name="request">Further fields. Null: every default.</param>
        /// <param name="token">Cancels the answer.</param>
        public SottoAnswer SayAsync(string text, SottoRequest request = null, CancellationToken token = default)
        {
            var answer = _engine.NewAnswer(request ?? Defaults, token);
            Start(answer, text, request);
            return answer;
        }

        /// <summary>
        /// Reserves a slot of the model for this session between its turns, or releases it.
        /// </summary>
        /// <remarks>
        /// At least one slot stays unpinned: pinning the last one ends with
        /// <c>Native.SOTTO_ERROR_BUDGET</c>.
        /// </remarks>
        public ulong Pin(bool pinned = true, ulong user = 0) =>
            Submit(_engine, SottoOp.ChangeSession, About(Id).Name("pinned").Value(pinned), user);

        /// <summary>
        /// Sets the system message, for example after a quest has advanced; empty removes it.
        /// </summary>
        /// <remarks>Takes effect with the next turn, whose prompt is prefilled from the start.</remarks>
        public ulong SetSystem(string text, ulong user = 0) =>
            Submit(_engine, SottoOp.ChangeSession, About(Id).Name("system").Value(text ?? ""), user);

        /// <summary>Drops the last turns, for example if the player takes back what they said.</summary>
        /// <remarks>
        /// A turn is a user message and all messages up to the next one. The KV cache of the messages that stay
        /// is reused by the next turn. Ends with <c>Native.SOTTO_ERROR_BUSY</c> while the session answers a
        /// chat, and with <c>Native.SOTTO_ERROR_ARGUMENT</c> if the session has fewer turns.
        /// </remarks>
        /// <param name="turns">Number of turns to drop.</param>
        /// <param name="user">User data, copied into the event.</param>
        public ulong Rewind(int turns = 1, ulong user = 0)
        {
            var body = About(Id).Name("action").Value("rewind").Name("turns").Value(turns);
            return Submit(_engine, SottoOp.EditSession, body, user);
        }

        /// <summary>
        /// Reads the KV cache of the session: an event of kind Data has it, for <see cref="SottoEngine.RestoreState"/>.
        /// </summary>
        /// <remarks>
        /// The model prefills what its KV cache lacks. The state holds no messages: save these too. It fits one model
        /// file and one version of the library.
        /// </remarks>
        public ulong ReadState(ulong user = 0, SottoFlags flags = SottoFlags.None) =>
            Submit(_engine, SottoOp.SaveState, About(Id).Name("add_generation_prompt").Value(false), user, flags);

        /// <summary>Reads the conversation: the last event's <c>Json</c> has it as <c>messages</c>.</summary>
        public ulong Read(ulong user = 0, SottoFlags flags = SottoFlags.None) =>
            Submit(_engine, SottoOp.ReadSession, About(Id), user, flags);

        /// <summary>
        /// Reads the conversation for a save game; awaiting gives JSON with <c>messages</c>.
        /// </summary>
        public SottoAnswer ReadAsync(CancellationToken token = default) => _engine.Await(Read(), token);

        /// <summary>
        /// Closes the session. A running chat continues, but is not stored. A second call does nothing.
        /// </summary>
        /// <remarks>
        /// If <see cref="Opening"/> failed because the id was taken, it closes the session of that id.
        /// </remarks>
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

        /// <summary>
        /// Lets <see cref="Dispose"/> do nothing: the opening failed, so the session of this id is another's.
        /// </summary>
        internal void Abandon() => _closed = true;

        internal void Start(SottoAnswer answer, string text, SottoRequest request) =>
            _engine.Start(answer, request ?? Defaults, Id, text);

        SottoSession(SottoEngine engine, string id, ulong opening)
        {
            _engine = engine;
            Id = id;
            Opening = opening;
        }

        static SottoJsonWriter About(string id) =>
            new SottoJsonWriter().BeginObject().Name("session").Value(id ?? "");

        static ulong Submit(
            SottoEngine engine, SottoOp op, SottoJsonWriter body, ulong user, SottoFlags flags = SottoFlags.None) =>
            engine.Submit(op, body.EndObject().ToString(), user, flags);
    }
}
