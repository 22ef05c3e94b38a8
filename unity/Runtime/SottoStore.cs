// A store of memories on disk, searched by meaning and by words; see store.h.
using System;
using System.Collections.Generic;
using Sotto.Interop;
using static Sotto.Interop.Utf8;

namespace Sotto
{
    /// <summary>What a store is and holds.</summary>
    public readonly struct SottoStoreInfo
    {
        /// <summary>Name of the store.</summary>
        public readonly string Id;

        /// <summary>Numbers per embedding. 0: the store has no embeddings.</summary>
        public readonly int Dim;

        /// <summary>Number of entries.</summary>
        public readonly long Entries;

        /// <summary>Number of entries with an embedding.</summary>
        public readonly long Embeddings;

        /// <summary>Size of the database file.</summary>
        public readonly long FileBytes;

        /// <summary>Whether the store is open for reading only.</summary>
        public readonly bool IsReadOnly;

        internal SottoStoreInfo(JsonReader json)
        {
            Id = "";
            Dim = 0;
            Entries = Embeddings = FileBytes = 0;
            IsReadOnly = false;
            json.BeginObject();
            for (var name = json.NextField(); name != null; name = json.NextField())
                switch (name)
                {
                    case "id": Id = json.Text(); break;
                    case "dim": Dim = (int)json.Integer(); break;
                    case "entries": Entries = json.Integer(); break;
                    case "embeddings": Embeddings = json.Integer(); break;
                    case "file_bytes": FileBytes = json.Integer(); break;
                    case "read_only": IsReadOnly = json.Flag(); break;
                    default: json.Skip(); break;
                }
        }
    }

    /// <summary>A store of memories on disk, for one game, character or save slot.</summary>
    /// <remarks>
    /// Any thread may call any method. All methods wait for the disk and for other calls on the store: call them on a
    /// worker thread, or call their <c>Async</c> twins, which run them on a thread of the pool; never wait in a frame.
    /// What a method has written survives a crash and a power failure. A store is open for writing once; dispose it
    /// before it is opened again. After <see cref="Dispose"/> a method throws a <see cref="SottoException"/>.
    /// </remarks>
    /// <example><code>
    /// using (var store = SottoStore.Open(folder, "lore", dim: 384))
    /// {
    ///     store.Insert(new SottoStoreEntry("The key is under the mat.", "mara"));
    ///     foreach (var match in store.Query(new SottoStoreQuery { Namespace = "mara", Text = "where is the key" }))
    ///         Show(match.Entry.Value);
    /// }
    /// </code></example>
    public sealed unsafe partial class SottoStore : IDisposable
    {
        const int PageSize = 1000;
        readonly sotto_store* _store; // a number, which the library refuses once the store is closed
        volatile bool _closed;

        SottoStore(sotto_store* store, string folder, string id)
        {
            _store = store;
            Folder = folder;
            Id = id;
            LiveHandles.Add(this, (IntPtr)store, Close);
        }

        /// <summary>Opens a store. Waits for the disk.</summary>
        /// <param name="folder">Folder of the store's files, in Unity below persistentDataPath. Created if need be.</param>
        /// <param name="id">Name of the store, a plain file name of 1 to 100 bytes.</param>
        /// <param name="dim">Numbers per embedding. 0: as stored; a new store has no embeddings.</param>
        /// <param name="create">Creates the store if it does not exist.</param>
        /// <param name="readOnly">Reads only. Several processes may read one store at once.</param>
        /// <exception cref="SottoException">
        /// The store does not exist, is open elsewhere, has another <paramref name="dim"/>, is damaged, or cannot be
        /// written.
        /// </exception>
        public static SottoStore Open(
            string folder, string id, int dim = 0, bool create = true, bool readOnly = false)
        {
            Library.Require();
            LiveHandles.DestroyUnreachable();
            byte[] where = Bytes(folder), name = Bytes(id);
            sotto_store* store;
            fixed (byte* w = where, n = name)
            {
                var desc = new sotto_store_desc
                {
                    struct_size = (uint)sizeof(sotto_store_desc),
                    flags = (create ? (uint)Native.SOTTO_STORE_CREATE : 0)
                        | (readOnly ? (uint)Native.SOTTO_STORE_READ_ONLY : 0),
                    folder = Str(w, where),
                    id = Str(n, name),
                    dim = Arguments.Count("dim", dim, "pass the dimensions of the embedding model"),
                };
                SottoEngine.Check(Native.sotto_store_open(&desc, &store));
            }
            return new SottoStore(store, folder, id);
        }

        /// <summary>Deletes all files of a store that is not open. Waits for the disk.</summary>
        /// <exception cref="SottoException">The store does not exist, or is open.</exception>
        public static void Delete(string folder, string id)
        {
            Library.Require();
            LiveHandles.DestroyUnreachable();
            byte[] where = Bytes(folder), name = Bytes(id);
            fixed (byte* w = where, n = name)
                SottoEngine.Check(Native.sotto_store_delete(Str(w, where), Str(n, name)));
        }

        /// <summary>Returns the names of the stores in a folder, sorted. Waits for the disk.</summary>
        public static string[] Ids(string folder)
        {
            Library.Require();
            var where = Bytes(folder);
            sotto_str ids;
            fixed (byte* w = where)
                SottoEngine.Check(Native.sotto_store_list_ids(Str(w, where), &ids));
            return new JsonReader(ids).Texts();
        }

        /// <summary>Folder of the store's files.</summary>
        public string Folder { get; }

        /// <summary>Name of the store.</summary>
        public string Id { get; }

        /// <summary>Describes the store.</summary>
        public SottoStoreInfo Info()
        {
            sotto_str info;
            Check(Native.sotto_store_info(_store, &info));
            return new SottoStoreInfo(new JsonReader(info));
        }

        /// <summary>Inserts an entry and returns its id.</summary>
        /// <exception cref="SottoException">
        /// The id exists, the embedding has another number of values, or the disk is full; nothing is inserted.
        /// </exception>
        public string Insert(SottoStoreEntry entry) => Insert(new[] { entry })[0];

        /// <summary>Inserts entries, all or none of them. Much faster than one by one.</summary>
        /// <param name="entries">The entries.</param>
        /// <param name="embeddings">
        /// Embeddings of all entries in a row, instead of those in the entries. Null: those in the entries.
        /// </param>
        /// <param name="replace">An entry takes the place of the one with its id.</param>
        /// <returns>The ids of the entries.</returns>
        public string[] Insert(
            IReadOnlyList<SottoStoreEntry> entries, float[] embeddings = null, bool replace = false)
        {
            Arguments.Required("entries", entries, "a list of entries");
            var json = new SottoJsonWriter(256 + 256 * entries.Count).BeginObject();
            json.Name("entries").BeginArray();
            for (var i = 0; i < entries.Count; ++i)
                Arguments.Required($"entries[{i}]", entries[i], "an entry").Write(json, embeddings == null);
            json.EndArray().Name("replace").Value(replace).EndObject();
            sotto_str ids;
            fixed (byte* body = json.Buffer)
            fixed (float* vectors = embeddings)
            {
                var count = (UIntPtr)(embeddings != null ? embeddings.Length : 0);
                Check(Native.sotto_store_insert(_store, Str(body, json.Size), vectors, count, &ids));
            }
            return new JsonReader(ids).Texts();
        }

        /// <summary>Returns an entry; null if no entry has the id.</summary>
        public SottoStoreEntry Get(string id, bool withEmbedding = false)
        {
            byte[] name = Bytes(id), options = Bytes(withEmbedding ? "{\"with_embedding\": true}" : "");
            sotto_str entry;
            int status;
            fixed (byte* n = name, o = options)
                status = Native.sotto_store_get(_store, Str(n, name), Str(o, options), &entry);
            if (status == Native.SOTTO_ERROR_NOT_FOUND)
                return null;
            Check(status);
            var json = new JsonReader(entry);
            return SottoStoreEntry.Read(ref json);
        }

        /// <summary>Changes fields of an entry; the others stay.</summary>
        /// <returns>False if no entry has the id.</returns>
        public bool Update(string id, SottoStoreChanges changes)
        {
            Arguments.Required("changes", changes, "the fields to change");
            byte[] name = Bytes(id), body = Bytes(changes.ToString());
            fixed (byte* n = name, b = body)
            {
                var status = Native.sotto_store_update(_store, Str(n, name), Str(b, body));
                return status != Native.SOTTO_ERROR_NOT_FOUND && Check(status) >= 0;
            }
        }

        /// <summary>Removes entries by id; ids that no entry has are ignored.</summary>
        /// <returns>The number of entries removed.</returns>
        public long Remove(params string[] ids)
        {
            Arguments.Required("ids", ids, "ids of entries");
            var json = new SottoJsonWriter().BeginObject().Name("ids").BeginArray();
            foreach (var id in ids)
                json.Value(id);
            return RemoveBy(json.EndArray().EndObject().ToString());
        }

        /// <summary>Removes the entries that match a filter; an empty filter matches all.</summary>
        /// <returns>The number of entries removed.</returns>
        public long RemoveWhere(SottoStoreFilter filter) =>
            RemoveBy(Arguments.Required("filter", filter, "a filter; an empty one removes all entries").ToString());

        /// <summary>Returns the number of entries that match a filter. Null: of all.</summary>
        public long Count(SottoStoreFilter filter = null)
        {
            var body = Bytes(filter?.ToString());
            ulong count;
            fixed (byte* b = body)
                Check(Native.sotto_store_count(_store, Str(b, body), &count));
            return (long)count;
        }

        /// <summary>Returns the entries that match a filter, in the order of their insertion. Null: all.</summary>
        public List<SottoStoreEntry> List(SottoStoreFilter filter = null, bool withEmbedding = false)
        {
            var found = new List<SottoStoreEntry>();
            for (var after = ""; after != null;)
                after = ReadPage(filter, withEmbedding, after, found);
            return found;
        }

        /// <summary>Finds entries by words, by embedding, or by both; the highest score first.</summary>
        public SottoStoreMatch[] Query(SottoStoreQuery query)
        {
            var body = Bytes(Arguments.Required("query", query, "a query").ToString());
            var vector = query.Embedding;
            sotto_str results;
            fixed (byte* b = body)
            fixed (float* v = vector)
            {
                var count = (UIntPtr)(vector != null ? vector.Length : 0);
                Check(Native.sotto_store_query(_store, Str(b, body), v, count, &results));
            }
            var json = new JsonReader(results);
            var found = new List<SottoStoreMatch>();
            for (json.BeginArray(); json.NextItem();)
                found.Add(SottoStoreMatch.Read(ref json));
            return found.ToArray();
        }

        /// <summary>
        /// Writes all entries to one file, which is replaced atomically. <see cref="Restore"/> reads it, and a save game
        /// can hold it: see <see cref="SottoEngine.SaveGame(string, IReadOnlyDictionary{string, string}, SottoFlags)"/>.
        /// </summary>
        public void Backup(string path)
        {
            var name = Bytes(path);
            fixed (byte* n = name)
                Check(Native.sotto_store_backup(_store, Str(n, name)));
        }

        /// <summary>
        /// Replaces all entries, in one transaction, by those of a <see cref="Backup"/> of this or any store with the
        /// same dimensions. If it throws, nothing has changed.
        /// </summary>
        public void Restore(string path)
        {
            var name = Bytes(path);
            fixed (byte* n = name)
                Check(Native.sotto_store_restore(_store, Str(n, name)));
        }

        /// <summary>Gives the disk space of removed entries back to the system; takes seconds if the store is large.</summary>
        public void Compact() => Check(Native.sotto_store_compact(_store));

        /// <summary>Reads the whole file; throws a <see cref="SottoException"/> if it is damaged.</summary>
        public void CheckFile() => Check(Native.sotto_store_check(_store));

        /// <summary>
        /// Closes the store, after calls that run on other threads. Waits for the disk. A second call does nothing.
        /// </summary>
        public void Dispose()
        {
            _closed = true;
            LiveHandles.Destroy((IntPtr)_store);
            GC.SuppressFinalize(this);
        }

        // Closing waits for the disk, for which a finalizer must not wait: logs a warning and leaves the store to
        // LiveHandles.
        ~SottoStore()
        {
            if (_closed || _store == null)
                return;
            try
            {
                Library.Complain($"SottoStore '{Id}' was never disposed");
            }
            catch (Exception)
            {
                // At exit, Mono closes the console before it runs finalizers; one that throws ends the process.
            }
        }

        int Check(int status)
        {
            GC.KeepAlive(this);
            if (status < 0 && _closed)
                throw new SottoException(
                    status == Native.SOTTO_ERROR_ARGUMENT ? Native.SOTTO_ERROR_STATE : status,
                    $"store '{Id}' is closed: open it again with SottoStore.Open()");
            return SottoEngine.Check(status);
        }

        long RemoveBy(string which)
        {
            var body = Bytes(which);
            ulong removed;
            fixed (byte* b = body)
                Check(Native.sotto_store_remove(_store, Str(b, body), &removed));
            return (long)removed;
        }

        // Adds a page of entries. Returns where the next page begins, as JSON; null after the last page.
        string ReadPage(SottoStoreFilter filter, bool withEmbedding, string after, List<SottoStoreEntry> found)
        {
            var options = new SottoJsonWriter().BeginObject();
            filter?.Write(options);
            options.Name("limit").Value(PageSize).Name("with_embedding").Value(withEmbedding);
            if (after.Length > 0)
                options.Name("after").Raw(after);
            options.EndObject();
            sotto_str page;
            fixed (byte* o = options.Buffer)
                Check(Native.sotto_store_list(_store, Str(o, options.Size), &page));
            string next = null;
            var json = new JsonReader(page);
            json.BeginObject();
            for (var name = json.NextField(); name != null; name = json.NextField())
                if (name == "next")
                    next = json.Raw();
                else if (name == "entries")
                    for (json.BeginArray(); json.NextItem();)
                        found.Add(SottoStoreEntry.Read(ref json));
                else
                    json.Skip();
            return next;
        }

        static void Close(IntPtr store) => Native.sotto_store_close((sotto_store*)store);
    }
}
