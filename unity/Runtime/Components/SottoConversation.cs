// The conversation of a character: opening, reading and restoring it.
using System;
using Sotto.Interop;
using UnityEngine;

namespace Sotto
{
    public sealed partial class SottoCharacter
    {
        const int MaxShown = 40; // characters of invalid JSON in an error
        static int _count;

        SottoSession _session;
        SottoSession _kept; // a copy from before Restore(), until the save game's conversation is open
        SottoAnswer _opening; // of the session; the turns wait for it
        string _usedSession = ""; // id of the session
        string _problem = ""; // why there is no session

        /// <summary>
        /// Its conversation: fork, pin or read it. Null while the component is disabled, or if the conversation
        /// could not be opened.
        /// </summary>
        public SottoSession Session => _session;

        /// <summary>Sends the sheet again, after it has changed; the next answer knows it.</summary>
        public void RefreshSheet()
        {
            if (_session == null || sheet == null)
                return;
            _system = sheet.ToPrompt();
            _session.SetSystem(_system);
        }

        /// <summary>Reads the conversation for a save game; awaiting gives JSON for <see cref="Restore"/>.</summary>
        public SottoAnswer ReadAsync()
        {
            RequireSession("SottoCharacter.ReadAsync()");
            return _session.ReadAsync();
        }

        /// <summary>Replaces the conversation by one of a save game, its sheet included.</summary>
        /// <param name="json">What <see cref="ReadAsync"/> returned.</param>
        /// <exception cref="SottoException">
        /// As for <see cref="SayAsync"/>, or the JSON is not of a conversation.
        /// </exception>
        /// <remarks>
        /// If the save game is damaged, the conversation stays as it is: the call throws, or the character raises
        /// onFailed in a later frame.
        /// </remarks>
        public void Restore(string json)
        {
            RequireSession("SottoCharacter.Restore()");
            var messages = SottoJson.Field(json, "messages", out var complete);
            // an array stands in the JSON as it is, text that looks like one is escaped there
            if (!complete || !messages.StartsWith("[", StringComparison.Ordinal)
                || json.IndexOf(messages, StringComparison.Ordinal) < 0)
                throw new SottoException(
                    Native.SOTTO_ERROR_ARGUMENT,
                    $"invalid json '{Beginning(json)}': expected what ReadAsync() returned; check that the save game "
                    + "is complete");
            Cancel();
            _kept = _kept ?? _session.Fork(_usedSession + "#kept");
            _session.Dispose();
            ForgetPrompt();
            OpenSession("", messages);
        }

        /// <summary>Goes on with the conversation that a save game of the runtime has for its session id.</summary>
        internal void OnGameRestored()
        {
            Cancel();
            ForgetPrompt();
        }

        // The conversation is now one of a save game, which has its own system message and exchanges.
        void ForgetPrompt()
        {
            _system = "";
            _exchanges.Clear();
        }

        void OpenOwnSession()
        {
            _usedSession = sessionId.Length > 0 ? sessionId : $"{name}#{++_count}";
            var other = _runtime.ReserveSession(_usedSession, this);
            if (other != null)
                RefuseSession($"is in use by SottoCharacter '{other.name}'; give each character its own");
            else
                OpenSession(sheet != null ? sheet.ToPrompt() : "", "");
        }

        void OpenSession(string system, string messages)
        {
            try
            {
                _session = SottoSession.Open(_runtime.Engine, _usedSession, system, UsedModel, messages);
                _opening = _runtime.Engine.Await(_session.Opening);
                _opening.Completed += OnOpened;
            }
            catch (SottoException refused)
            {
                RefuseSession("could not be opened: " + refused.Message);
            }
        }

        void OnOpened(SottoAnswer opening)
        {
            if (opening != _opening)
                return; // of a conversation that is closed
            var kept = _kept;
            _kept = null;
            if (opening.Status >= 0)
            {
                kept?.Dispose();
                Advance();
                return;
            }
            _session.Abandon();
            if (kept != null && IsEngineAlive)
            {
                Return(kept, opening.Error);
                return;
            }
            if (!IsEngineAlive)
                return;
            if (opening.Status == Native.SOTTO_ERROR_STATE && _runtime.HasRestored)
                AdoptSession();
            else
                RefuseSession(opening.Status == Native.SOTTO_ERROR_STATE
                    ? $"is in use ({opening.Error}); give each character its own"
                    : "could not be opened: " + opening.Error);
        }

        // A save game that was restored has a conversation of this id, and no other character continues it.
        void AdoptSession()
        {
            if (sessionId.Length == 0)
            {
                _runtime.ReleaseSession(_usedSession, this);
                OpenOwnSession(); // with the next id that is made up
                return;
            }
            _session = new SottoSession(_runtime.Engine, _usedSession);
            ForgetPrompt();
            Advance();
        }

        // Goes on with the conversation from before a Restore() that failed.
        void Return(SottoSession kept, string reason)
        {
            FailLater(
                $"SottoCharacter '{name}': the save game is damaged ({reason}); the conversation is unchanged");
            _session = kept.Fork(_usedSession);
            _opening = _runtime.Engine.Await(_session.Opening);
            _opening.Completed += OnOpened;
            kept.Dispose();
        }

        void RefuseSession(string reason)
        {
            _session = null;
            _problem = $"SottoCharacter '{name}': sessionId '{_usedSession}' {reason}";
            Debug.LogError(_problem, this);
            FailWaiting(Native.SOTTO_ERROR_STATE, _problem);
        }

        void CloseSession()
        {
            _opening = null;
            _session?.Dispose();
            _kept?.Dispose();
            _session = _kept = null;
            _problem = "";
            _runtime?.ReleaseSession(_usedSession, this); // also if Unity has destroyed the runtime
        }

        void RequireSession(string call)
        {
            if (_session == null)
                throw new SottoException(
                    Native.SOTTO_ERROR_STATE,
                    _problem.Length > 0 ? _problem
                        : _runtime != null && _runtime.Problem.Length > 0 ? _runtime.Problem
                        : $"{call}: the character is disabled; enable the SottoCharacter before the call");
            _runtime.RequireEngine(call);
        }

        static string Beginning(string json) =>
            json == null || json.Length <= MaxShown ? json : json.Substring(0, MaxShown) + "...";
    }
}
