// The conversations of a runtime's characters: their ids, and save games of all of them.
using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;
using Sotto.Interop;
using UnityEngine;

namespace Sotto
{
    public sealed partial class SottoRuntime
    {
        readonly Dictionary<string, SottoCharacter> _sessions = new Dictionary<string, SottoCharacter>();

        /// <summary>
        /// Whether a save game was restored: a conversation may be open whose character is not enabled yet.
        /// </summary>
        internal bool HasRestored { get; private set; }

        /// <summary>
        /// Saves the conversations of all characters to a file. Never waits; awaiting gives counts as JSON.
        /// </summary>
        /// <remarks>
        /// The file is replaced only once the new one is complete. Give each character that is saved a Session Id. An
        /// answer in progress is not saved. Memories are on disk already, in the store of the settings.
        /// </remarks>
        /// <param name="path">The file; a relative path is below `persistentDataPath/Sotto`.</param>
        /// <param name="token">Cancels the answer. The file may be written nevertheless.</param>
        /// <exception cref="SottoException">
        /// There is no engine, the call is not on the main thread, or the path is not one.
        /// </exception>
        public SottoAnswer SaveGameAsync(string path, CancellationToken token = default)
        {
            RequireEngine("SottoRuntime.SaveGameAsync()");
            var file = SavePath(path);
            try
            {
                Directory.CreateDirectory(Path.GetDirectoryName(file));
            }
            catch (Exception problem) when (SottoFileCopy.IsOfFiles(problem))
            {
                // the engine reports that it cannot write the file
            }
            return Engine.SaveGameAsync(file, token);
        }

        /// <summary>
        /// Restores the conversations of a file of <see cref="SaveGameAsync"/>. Never waits; awaiting gives counts as
        /// JSON.
        /// </summary>
        /// <remarks>
        /// <para>
        /// Characters continue the conversation of their Session Id, its sheet included; what they were saying is
        /// cancelled. A character that is enabled later does so too. Conversations that the file does not have stay as
        /// they are. If the file is damaged or missing, nothing changes and awaiting throws.
        /// </para>
        /// <para>Load the models before, so that the next answers need not evaluate the conversations anew.</para>
        /// </remarks>
        /// <param name="path">As for <see cref="SaveGameAsync"/>.</param>
        /// <param name="token">Cancels the answer. The file may be restored nevertheless.</param>
        /// <exception cref="SottoException">As for <see cref="SaveGameAsync"/>.</exception>
        public SottoAnswer RestoreGameAsync(string path, CancellationToken token = default)
        {
            RequireEngine("SottoRuntime.RestoreGameAsync()");
            var answer = Engine.RestoreGameAsync(SavePath(path), token);
            answer.Completed += OnRestored;
            return answer;
        }

        /// <summary>Reserves the id of a conversation. Returns the character that has it already, or null.</summary>
        internal SottoCharacter ReserveSession(string id, SottoCharacter owner)
        {
            if (_sessions.TryGetValue(id, out var other) && other != null && other != owner)
                return other;
            _sessions[id] = owner;
            return null;
        }

        /// <summary>Releases the id of a conversation if it is this character's.</summary>
        internal void ReleaseSession(string id, SottoCharacter owner)
        {
            if (_sessions.TryGetValue(id, out var other) && ReferenceEquals(other, owner))
                _sessions.Remove(id);
        }

        void OnRestored(SottoAnswer restoring)
        {
            if (restoring.Status < 0)
                return;
            HasRestored = true;
            foreach (var character in new List<SottoCharacter>(_sessions.Values))
                if (character != null)
                    character.OnGameRestored();
        }

        static string SavePath(string path)
        {
            Arguments.Required("path", path, "the file of a save game");
            try
            {
                return Path.GetFullPath(Path.Combine(Application.persistentDataPath, SottoFiles.Folder, path));
            }
            catch (Exception problem) when (
                problem is ArgumentException || problem is NotSupportedException || SottoFileCopy.IsOfFiles(problem))
            {
                throw Arguments.Invalid($"invalid path '{path}': {problem.Message}");
            }
        }
    }
}
