// Conversations that the engine keeps, so that a request says only what is new.
using System;
using System.Globalization;

namespace Sotto
{
    /// <summary>A conversation that an engine keeps under an id. Open it, chat with it, dispose it.</summary>
    /// <remarks>
    /// No method waits: what came of it is told by the events of the request that it returns, as with
    /// <see cref="SottoEngine.Submit"/>. What is asked for is done in order, so a chat may follow the opening
    /// at once. A turn is remembered once its answer is whole; one that is cancelled or fails leaves the
    /// session as it was. A session answers one chat at a time.
    /// </remarks>
    public sealed class SottoSession : IDisposable
    {
        readonly SottoEngine _engine;
        bool _closed;

        /// <summary>The id. Any request may go on with it: <c>{"session": "mara", ...}</c>.</summary>
        public readonly string Id;

        /// <summary>The request that opens it. 0 if it was open before.</summary>
        public readonly ulong Opening;

        /// <summary>A session that is open already.</summary>
        public SottoSession(SottoEngine engine, string id) : this(engine, id, 0)
        {
        }

        /// <summary>Opens a session.</summary>
        /// <param name="engine">The engine that keeps it.</param>
        /// <param name="id">1 to 128 bytes of UTF-8.</param>
        /// <param name="system">The system message, such as a character sheet; text, not JSON. Empty: none.</param>
        /// <param name="model">Default model of the session. Empty: the model of its first request.</param>
        /// <param name="messages">Earlier messages: a JSON array of OpenAI messages. Empty: none.</param>
        /// <param name="user">Anything. Comes back in the opening's event.</param>
        public static SottoSession Open(
            SottoEngine engine, string id, string system = "", string model = "", string messages = "",
            ulong user = 0)
        {
            var more = string.IsNullOrEmpty(messages) ? "" : @", ""messages"": " + messages;
            more += string.IsNullOrEmpty(system) ? "" : @", ""system"": " + SottoJson.Quote(system);
            more += string.IsNullOrEmpty(model) ? "" : @", ""model"": " + SottoJson.Quote(model);
            return new SottoSession(engine, id, engine.Submit(SottoOp.OpenSession, About(id, more), user));
        }

        /// <summary>Opens another session that begins as a copy of this one, and goes its own way.</summary>
        /// <param name="id">The other one's id.</param>
        /// <param name="keep">How many messages it begins with, at most. Below 0: all of them.</param>
        /// <param name="user">Anything. Comes back in the opening's event.</param>
        public SottoSession Fork(string id, int keep = -1, ulong user = 0)
        {
            var more = @", ""from"": " + SottoJson.Quote(Id);
            more += keep < 0 ? "" : @", ""keep"": " + keep.ToString(CultureInfo.InvariantCulture);
            return new SottoSession(_engine, id, _engine.Submit(SottoOp.OpenSession, About(id, more), user));
        }

        /// <summary>Has the session's model answer what the user says.</summary>
        /// <param name="text">What the user says.</param>
        /// <param name="more">Further fields of the request, each with a comma before it.</param>
        /// <param name="user">Anything. Comes back in each event.</param>
        /// <param name="flags">How to treat it.</param>
        /// <param name="targetTps">Tokens per second to pace to. 0: the engine's.</param>
        /// <param name="priority">Who is served first.</param>
        /// <param name="deadlineNs">When the answer shall have begun. 0: none.</param>
        public ulong Say(
            string text, string more = "", ulong user = 0, SottoFlags flags = SottoFlags.None,
            float targetTps = 0, SottoPriority priority = SottoPriority.Normal, ulong deadlineNs = 0)
        {
            var message = @", ""messages"": [{""role"": ""user"", ""content"": " + SottoJson.Quote(text) + "}]";
            var body = About(Id, message + more);
            return _engine.Submit(SottoOp.Chat, body, user, flags, targetTps, priority, deadlineNs);
        }

        /// <summary>Has it keep its place in the model between its turns, whoever else speaks; or no longer.</summary>
        /// <remarks>
        /// A model leaves one place to those who are not pinned: where all others are kept, the request fails
        /// with <c>Native.SOTTO_ERROR_BUDGET</c>.
        /// </remarks>
        public ulong Pin(bool pinned = true, ulong user = 0) =>
            _engine.Submit(
                SottoOp.ChangeSession, About(Id, @", ""pinned"": " + (pinned ? "true" : "false")), user);

        /// <summary>Sets the system message, for example after a quest has advanced; empty removes it.</summary>
        /// <remarks>Takes effect with the next turn, whose prompt is prefilled from the start.</remarks>
        public ulong SetSystem(string text, ulong user = 0) =>
            _engine.Submit(SottoOp.ChangeSession, About(Id, @", ""system"": " + SottoJson.Quote(text)), user);

        /// <summary>Asks for all that was said: the last event's <c>Json</c> has it as <c>messages</c>.</summary>
        public ulong Read(ulong user = 0, SottoFlags flags = SottoFlags.None) =>
            _engine.Submit(SottoOp.ReadSession, About(Id, ""), user, flags);

        /// <summary>Closes the session. A chat that it answers goes on. A second call does nothing.</summary>
        /// <remarks>Also where <see cref="Opening"/> failed because another of that id was open: that one.</remarks>
        public void Dispose()
        {
            if (_closed)
                return;
            _closed = true;
            try
            {
                _engine.Submit(SottoOp.CloseSession, About(Id, ""));
            }
            catch (SottoException) when (_engine.IsDisposed)
            {
                // the engine took it along
            }
        }

        SottoSession(SottoEngine engine, string id, ulong opening)
        {
            _engine = engine;
            Id = id;
            Opening = opening;
        }

        static string About(string id, string more) => @"{""session"": " + SottoJson.Quote(id) + more + "}";
    }
}
