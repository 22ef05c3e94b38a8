// Save games: all conversations of an engine in one file; see save_game.h.
using System.Collections.Generic;
using System.Threading;
using Sotto.Interop;
using static Sotto.Interop.Utf8;

namespace Sotto
{
    public sealed unsafe partial class SottoEngine
    {
        /// <summary>
        /// Saves all conversations to a file, which is replaced atomically. Never waits; returns the id that its events
        /// carry.
        /// </summary>
        /// <remarks>
        /// Of stores, a save game holds the backups that are given as files. An answer in progress is not saved: a turn belongs to its session
        /// once the answer is complete.
        /// </remarks>
        /// <param name="path">The file, in Unity below persistentDataPath.</param>
        /// <param name="flags">Private or None.</param>
        public ulong SaveGame(string path, SottoFlags flags = SottoFlags.None)
        {
            var name = Bytes(path);
            ulong request;
            fixed (byte* n = name)
                Check(Native.sotto_engine_save_game(_engine, Str(n, name), (uint)flags, &request));
            return request;
        }

        /// <summary>
        /// Restores the conversations of a file of <see cref="SaveGame(string, SottoFlags)"/>; load the models before. Never waits; returns
        /// the id that its events carry.
        /// </summary>
        /// <remarks>
        /// A session that is open with the id of a restored one is closed first. Nothing changes unless the whole file is
        /// valid.
        /// </remarks>
        /// <param name="path">The file.</param>
        /// <param name="flags">Private or None.</param>
        public ulong RestoreGame(string path, SottoFlags flags = SottoFlags.None)
        {
            var name = Bytes(path);
            ulong request;
            fixed (byte* n = name)
                Check(Native.sotto_engine_restore_game(_engine, Str(n, name), (uint)flags, &request));
            return request;
        }

        /// <summary>
        /// Saves all conversations, with files of the game such as a <see cref="SottoStore.Backup"/>. Never waits; returns
        /// the id that its events carry.
        /// </summary>
        /// <param name="path">The file, in Unity below persistentDataPath.</param>
        /// <param name="files">Paths of the files to copy, by names of 1 to 128 bytes.</param>
        /// <param name="flags">Private or None.</param>
        public ulong SaveGame(
            string path, IReadOnlyDictionary<string, string> files, SottoFlags flags = SottoFlags.None) =>
            Submit(SottoOp.SaveGame, GameBody(path, files), flags: flags);

        /// <summary>
        /// Restores the conversations of a save game and writes files that it holds, if it has all of them. Never waits;
        /// returns the id that its events carry.
        /// </summary>
        /// <param name="path">The file.</param>
        /// <param name="files">Where to write the files, by their names.</param>
        /// <param name="flags">Private or None.</param>
        public ulong RestoreGame(
            string path, IReadOnlyDictionary<string, string> files, SottoFlags flags = SottoFlags.None) =>
            Submit(SottoOp.RestoreGame, GameBody(path, files), flags: flags);

        static string GameBody(string path, IReadOnlyDictionary<string, string> files)
        {
            var json = new SottoJsonWriter().BeginObject().Name("path").Value(path ?? "");
            json.Name("files").BeginObject();
            foreach (var file in files)
                json.Name(file.Key).Value(file.Value ?? "");
            return json.EndObject().EndObject().ToString();
        }

        /// <summary>Saves all conversations, as <see cref="SaveGame(string, SottoFlags)"/>; awaiting gives their counts as JSON.</summary>
        public SottoAnswer SaveGameAsync(string path, CancellationToken token = default) =>
            Await(SaveGame(path), token);

        /// <summary>Restores conversations, as <see cref="RestoreGame(string, SottoFlags)"/>; awaiting gives their counts as JSON.</summary>
        public SottoAnswer RestoreGameAsync(string path, CancellationToken token = default) =>
            Await(RestoreGame(path), token);

        /// <summary>Saves all conversations and files of the game; awaiting gives their counts as JSON.</summary>
        /// <param name="path">The file, in Unity below persistentDataPath.</param>
        /// <param name="files">Paths of the files to copy, by names of 1 to 128 bytes.</param>
        /// <param name="token">Cancels the request.</param>
        public SottoAnswer SaveGameAsync(
            string path, IReadOnlyDictionary<string, string> files, CancellationToken token = default) =>
            Await(SaveGame(path, files), token);

        /// <summary>Restores conversations and writes files that the save game holds, if it has all of them.</summary>
        /// <param name="path">The file.</param>
        /// <param name="files">Where to write the files, by their names.</param>
        /// <param name="token">Cancels the request.</param>
        public SottoAnswer RestoreGameAsync(
            string path, IReadOnlyDictionary<string, string> files, CancellationToken token = default) =>
            Await(RestoreGame(path, files), token);
    }
}
