// The calls of a store on a thread of the pool, for games.
using System;
using System.Collections.Generic;
using System.Threading.Tasks;

namespace Sotto
{
    // Code after `await` continues on the thread that awaits: in Unity on the main thread.
    public sealed partial class SottoStore
    {
        /// <summary>Opens a store on a thread of the pool, as <see cref="Open"/>.</summary>
        public static Task<SottoStore> OpenAsync(
            string folder, string id, int dim = 0, bool create = true, bool readOnly = false) =>
            Task.Run(() => Open(folder, id, dim, create, readOnly));

        /// <summary>Inserts an entry on a thread of the pool; do not change it until then.</summary>
        public Task<string> InsertAsync(SottoStoreEntry entry) => Task.Run(() => Insert(entry));

        /// <summary>Inserts entries on a thread of the pool; do not change them until then.</summary>
        public Task<string[]> InsertAsync(
            IReadOnlyList<SottoStoreEntry> entries, float[] embeddings = null, bool replace = false) =>
            Task.Run(() => Insert(entries, embeddings, replace));

        /// <summary>Reads an entry on a thread of the pool, as <see cref="Get"/>.</summary>
        public Task<SottoStoreEntry> GetAsync(string id, bool withEmbedding = false) =>
            Task.Run(() => Get(id, withEmbedding));

        /// <summary>Changes an entry on a thread of the pool, as <see cref="Update"/>.</summary>
        public Task<bool> UpdateAsync(string id, SottoStoreChanges changes) =>
            Task.Run(() => Update(id, changes));

        /// <summary>Removes entries on a thread of the pool, as <see cref="Remove"/>.</summary>
        public Task<long> RemoveAsync(params string[] ids) => Task.Run(() => Remove(ids));

        /// <summary>Removes entries on a thread of the pool, as <see cref="RemoveWhere"/>.</summary>
        public Task<long> RemoveWhereAsync(SottoStoreFilter filter) => Task.Run(() => RemoveWhere(filter));

        /// <summary>Counts entries on a thread of the pool, as <see cref="Count"/>.</summary>
        public Task<long> CountAsync(SottoStoreFilter filter = null) => Task.Run(() => Count(filter));

        /// <summary>Lists entries on a thread of the pool, as <see cref="List"/>.</summary>
        public Task<List<SottoStoreEntry>> ListAsync(SottoStoreFilter filter = null, bool withEmbedding = false) =>
            Task.Run(() => List(filter, withEmbedding));

        /// <summary>Finds entries on a thread of the pool, as <see cref="Query"/>.</summary>
        public Task<SottoStoreMatch[]> QueryAsync(SottoStoreQuery query) => Task.Run(() => Query(query));

        /// <summary>Writes all entries to a file on a thread of the pool, as <see cref="Backup"/>.</summary>
        public Task BackupAsync(string path) => Task.Run(() => Backup(path));

        /// <summary>Replaces all entries on a thread of the pool, as <see cref="Restore"/>.</summary>
        public Task RestoreAsync(string path) => Task.Run(() => Restore(path));

        /// <summary>Closes the store on a thread of the pool, as <see cref="Dispose"/>.</summary>
        public Task CloseAsync() => Task.Run((Action)Dispose);
    }
}
