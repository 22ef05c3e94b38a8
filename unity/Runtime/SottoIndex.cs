// A vector index: finds the vectors nearest to a query; see index.h.
using System;
using System.Threading;
using System.Threading.Tasks;
using Sotto.Interop;
using static Sotto.Interop.Utf8;

namespace Sotto
{
    /// <summary>How an index stores vectors.</summary>
    public enum SottoIndexStorage
    {
        /// <summary>4 bytes per dimension.</summary>
        F32 = Native.SOTTO_INDEX_F32,

        /// <summary>2 bytes per dimension; distances are off by at most about 0.001.</summary>
        F16 = Native.SOTTO_INDEX_F16,

        /// <summary>1 byte per dimension; distances are off by about 0.01.</summary>
        I8 = Native.SOTTO_INDEX_I8,
    }

    /// <summary>Finds the vectors nearest to a query by cosine distance. Needs no engine and no model.</summary>
    /// <remarks>
    /// Any thread may call any method. Searches never wait and, with arrays of the caller, never allocate. Methods that
    /// change or save the index wait for each other; call <see cref="Build"/>, <see cref="Save"/> and <see cref="Load"/>
    /// outside of frames. A search before <see cref="Build"/> throws. After <see cref="Dispose"/> a method throws a
    /// <see cref="SottoException"/>. An index that is not disposed is freed when it is collected.
    /// </remarks>
    /// <example><code>
    /// var index = new SottoIndex(384);
    /// index.Insert(labels, vectors);
    /// index.Build();
    /// var found = index.Search(query, 5, nearest, distances);
    /// </code></example>
    public sealed unsafe partial class SottoIndex : IDisposable
    {
        readonly OwnedHandle _handle;

        /// <summary>Creates an empty index.</summary>
        /// <param name="dim">Dimensions of a vector, 1 to 16,384.</param>
        /// <param name="storage">How vectors are stored.</param>
        /// <param name="maxElements">Maximum number of vectors. 0: no limit.</param>
        /// <param name="seed">Seed of the graph's random layers.</param>
        /// <param name="m">Links per vector, 2 to 128. 0: 16.</param>
        /// <param name="efConstruction">Candidates per insertion, 1 to 65,536. 0: 200.</param>
        public SottoIndex(
            int dim, SottoIndexStorage storage = SottoIndexStorage.F32, ulong maxElements = 0, ulong seed = 0,
            int m = 0, int efConstruction = 0)
        {
            Library.Require();
            var desc = new sotto_index_desc
            {
                struct_size = (uint)sizeof(sotto_index_desc),
                dim = Arguments.Count("dim", dim, "pass the dimensions of the embedding model"),
                max_elements = maxElements,
                seed = seed,
                storage = (int)storage,
                m = Arguments.Count("m", m, "0 is the default"),
                ef_construction = Arguments.Count("efConstruction", efConstruction, "0 is the default"),
            };
            sotto_index* index;
            SottoEngine.Check(Native.sotto_index_create(&desc, &index));
            _handle = Own(index);
            Dim = dim;
        }

        SottoIndex(sotto_index* index)
        {
            _handle = Own(index);
            Dim = (int)Info().dim;
        }

        /// <summary>Reads an index from a file of <see cref="Save"/>. Waits for the disk.</summary>
        /// <param name="path">Path of the file.</param>
        /// <param name="mapped">
        /// Leaves vectors in the file, which is mapped and must not be written to, instead of in memory.
        /// </param>
        public static SottoIndex Load(string path, bool mapped = false)
        {
            Library.Require();
            var name = Bytes(path);
            sotto_index* index;
            fixed (byte* n = name)
                SottoEngine.Check(Native.sotto_index_load(
                    Str(n, name), mapped ? (uint)Native.SOTTO_INDEX_MAPPED : 0, &index));
            return new SottoIndex(index);
        }

        /// <summary>Reads an index on a thread of the pool, as <see cref="Load"/>.</summary>
        public static Task<SottoIndex> LoadAsync(string path, bool mapped = false) =>
            Task.Run(() => Load(path, mapped));

        /// <summary>Dimensions of a vector.</summary>
        public int Dim { get; }

        /// <summary>Number of vectors.</summary>
        public long Count => (long)Info().size;

        /// <summary>Whether the index can be searched.</summary>
        public bool IsBuilt => Info().built != 0;

        /// <summary>Bytes of memory, without mapped files.</summary>
        public long MemoryBytes => (long)Info().memory;

        /// <summary>How the index stores vectors.</summary>
        public SottoIndexStorage Storage => (SottoIndexStorage)Info().storage;

        /// <summary>Inserts a vector.</summary>
        /// <param name="label">A number that the index does not have.</param>
        /// <param name="vector">The vector: finite, not all 0, of any length but 0.</param>
        public void Insert(ulong label, float[] vector)
        {
            fixed (float* v = Vector("vector", vector))
                Check(Native.sotto_index_insert(At, v, (uint)vector.Length, &label, 1));
        }

        /// <summary>Inserts vectors; none of them if one is refused.</summary>
        /// <param name="labels">A label for each vector.</param>
        /// <param name="vectors">The vectors in a row.</param>
        public void Insert(ulong[] labels, float[] vectors)
        {
            Arguments.Required("labels", labels, "a label for each vector");
            var dim = (uint)Arguments.Dim("vectors", vectors, labels.Length);
            if (labels.Length == 0)
                return;
            fixed (ulong* l = labels)
            fixed (float* v = vectors)
                Check(Native.sotto_index_insert(At, v, dim, l, (ulong)labels.Length));
        }

        /// <summary>Inserts vectors from memory that the caller keeps in place, such as a NativeArray.</summary>
        /// <param name="labels">A label for each vector.</param>
        /// <param name="vectors"><paramref name="count"/> vectors of <see cref="Dim"/> values in a row.</param>
        /// <param name="count">Number of vectors.</param>
        public void Insert(ulong* labels, float* vectors, int count) =>
            Check(Native.sotto_index_insert(
                At, vectors, (uint)Dim, labels, Arguments.Count("count", count, "pass the number of vectors")));

        /// <summary>Replaces the vector of a label.</summary>
        public void Update(ulong label, float[] vector)
        {
            fixed (float* v = Vector("vector", vector))
                Check(Native.sotto_index_update(At, v, (uint)vector.Length, label));
        }

        /// <summary>Removes a label and its vector. Returns false if the index has no such label.</summary>
        public bool Remove(ulong label)
        {
            var status = Native.sotto_index_remove(At, label);
            return status != Native.SOTTO_ERROR_NOT_FOUND && Check(status) >= 0;
        }

        /// <summary>Returns whether the index has a label.</summary>
        public bool Contains(ulong label)
        {
            int found;
            Check(Native.sotto_index_contains(At, label, &found));
            return found != 0;
        }

        /// <summary>
        /// Links the vectors that were inserted before, so that the index can be searched. Waits: about a millisecond
        /// per vector. Vectors inserted later are linked at once.
        /// </summary>
        /// <param name="threads">Number of threads. 0: the calling thread.</param>
        public void Build(int threads = 0)
        {
            var desc = new sotto_build_desc
            {
                struct_size = (uint)sizeof(sotto_build_desc),
                threads = Arguments.Count("threads", threads, "0 is the calling thread alone"),
            };
            Check(Native.sotto_index_build(At, &desc));
        }

        /// <summary>Builds the index on a thread of the pool, as <see cref="Build"/>.</summary>
        public Task BuildAsync(int threads = 0) => Task.Run(() => Build(threads));

        /// <summary>Writes the index to a file, atomically. Waits for the disk.</summary>
        public void Save(string path)
        {
            var name = Bytes(path);
            fixed (byte* n = name)
                Check(Native.sotto_index_save(At, Str(n, name)));
        }

        /// <summary>Writes the index on a thread of the pool, as <see cref="Save"/>.</summary>
        public Task SaveAsync(string path) => Task.Run(() => Save(path));

        /// <summary>Frees the index, after calls that run on other threads. A second call does nothing.</summary>
        public void Dispose() => _handle.Dispose();

        sotto_index* At => (sotto_index*)_handle.Value;

        int Check(int status) => _handle.Check(status);

        sotto_index_info Info()
        {
            var info = new sotto_index_info { struct_size = (uint)sizeof(sotto_index_info) };
            Check(Native.sotto_index_get_info(At, &info));
            return info;
        }

        float[] Vector(string name, float[] vector) => Arguments.Required(name, vector, $"{Dim} values");

        static OwnedHandle Own(sotto_index* index) =>
            new OwnedHandle((IntPtr)index, value => Native.sotto_index_destroy((sotto_index*)value));
    }
}
