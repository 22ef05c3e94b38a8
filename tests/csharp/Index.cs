// The vector index through the Unity runtime's class.
using System;
using System.IO;
using System.Threading;
using Sotto;
using Sotto.Interop;

static partial class Program
{
    const int Dim = 8, Vectors = 200;

    static float[] RandomVectors(int count, int seed)
    {
        var random = new Random(seed);
        var values = new float[count * Dim];
        for (var i = 0; i < values.Length; ++i)
            values[i] = (float)random.NextDouble() - 0.5f;
        return values;
    }

    static float[] Row(float[] vectors, int at)
    {
        var row = new float[Dim];
        Array.Copy(vectors, at * Dim, row, 0, Dim);
        return row;
    }

    static double CosineDistance(float[] a, float[] b)
    {
        double ab = 0, aa = 0, bb = 0;
        for (var i = 0; i < a.Length; ++i)
        {
            ab += a[i] * b[i];
            aa += a[i] * a[i];
            bb += b[i] * b[i];
        }
        return 1 - ab / Math.Sqrt(aa * bb);
    }

    static unsafe void Index()
    {
        var vectors = RandomVectors(Vectors, 1);
        var labels = new ulong[Vectors];
        for (var i = 0; i < Vectors; ++i)
            labels[i] = ulong.MaxValue - (ulong)i;
        var query = RandomVectors(1, 2);
        var order = new int[Vectors];
        var distances = new double[Vectors];
        for (var i = 0; i < Vectors; ++i)
        {
            order[i] = i;
            distances[i] = CosineDistance(query, Row(vectors, i));
        }
        Array.Sort((double[])distances.Clone(), order);
        using (var index = new SottoIndex(Dim, seed: 3))
        {
            Throws(Native.SOTTO_ERROR_STATE, "a search before the build", () => index.Search(query, 1));
            index.Insert(labels, vectors);
            index.Build(2);
            Expect(index.IsBuilt && index.Count == Vectors && index.Dim == Dim, "an index describes itself");
            Expect(index.MemoryBytes > Vectors * Dim * 4 && index.Storage == SottoIndexStorage.F32, "and its memory");
            var found = index.Search(query, 5, ef: Vectors);
            Expect(found.Length == 5, $"5 matches: {found.Length}");
            for (var i = 0; i < found.Length; ++i)
                Expect(
                    found[i].Label == labels[order[i]] && Math.Abs(found[i].Distance - distances[order[i]]) < 1e-5,
                    $"match {i} is that of a search by hand: {found[i].Label}, {found[i].Distance}");
            Expect(index.Search(query, int.MaxValue, int.MaxValue >> 15).Length <= Vectors, "k beyond the index");
            Expect(index.Search(query, 0).Length == 0, "k of 0 finds nothing");
            var allowed = new[] { labels[order[9]], labels[order[5]], 77ul };
            var few = index.Search(query, 5, allowed: allowed);
            Expect(
                few.Length == 2 && few[0].Label == allowed[1] && few[1].Label == allowed[0],
                $"a search among some labels: {few.Length}");
            Expect(index.Search(query, 5, allowed: new ulong[0]).Length == 0, "a search among no labels");
            SearchWithoutGarbage(index, query, labels[order[0]]);
            ChangeIndex(index, query);
            BadIndexInput(index, query);
            SaveIndex(index, query);
        }
        Empty();
    }

    static unsafe void SearchWithoutGarbage(SottoIndex index, float[] query, ulong nearest)
    {
        var labels = new ulong[4];
        var near = new float[4];
        index.Search(query, labels, near);
        var before = GC.CollectionCount(0);
        for (var i = 0; i < 20000; ++i)
            if (index.Search(query, labels, near) != 4)
                Expect(false, "a search among many finds 4");
        Expect(GC.CollectionCount(0) == before, "a search into arrays allocates nothing");
        Expect(labels[0] == nearest, "and finds the same");
        fixed (float* q = query, d = near)
        fixed (ulong* l = labels)
        {
            labels[0] = 0;
            Expect(index.Search(q, 4, l, d) == 4 && labels[0] == nearest, "a search from pointers");
            Expect(index.Search(q, 4, l, null) == 4, "a search without distances");
        }
    }

    static unsafe void ChangeIndex(SottoIndex index, float[] query)
    {
        index.Insert(5, query);
        Expect(index.Contains(5) && !index.Contains(6), "an index knows its labels");
        Expect(index.Search(query, 1)[0].Label == 5, "a vector is found at once after the build");
        var opposite = Array.ConvertAll(query, value => -value);
        index.Update(5, opposite);
        Expect(index.Search(query, 1)[0].Label != 5, "an updated vector moves");
        Expect(index.Search(opposite, 1)[0].Label == 5, "and is found where it is");
        Expect(index.Remove(5) && !index.Remove(5) && !index.Contains(5), "a label is removed once");
        ulong label = 6;
        fixed (float* q = query)
            index.Insert(&label, q, 1);
        Expect(index.Contains(6) && index.Remove(6), "a vector comes from a pointer");
        index.Insert(new ulong[0], new float[0]);
    }

    static void BadIndexInput(SottoIndex index, float[] query)
    {
        var count = index.Count;
        foreach (var dim in new[] { 0, -1, 16385, int.MaxValue })
            Throws(Native.SOTTO_ERROR_ARGUMENT, $"an index of dim {dim}", () => new SottoIndex(dim));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "a negative m", () => new SottoIndex(Dim, m: -1));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "an unknown storage", () => new SottoIndex(Dim, (SottoIndexStorage)9));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "a wrong length", () => index.Insert(7, new float[Dim + 1]));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "a zero vector", () => index.Insert(7, new float[Dim]));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "an empty vector", () => index.Insert(7, new float[0]));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no vector", () => index.Insert(7, null));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no labels", () => index.Insert(null, query));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no vectors", () => index.Insert(new ulong[1], null));
        var nan = (float[])query.Clone();
        nan[3] = float.NaN;
        Throws(Native.SOTTO_ERROR_ARGUMENT, "a value that is no number", () => index.Insert(7, nan));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "a query that is no number", () => index.Search(nan, 1));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "too few values", () => index.Insert(new ulong[3], new float[Dim * 3 - 1]));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "too many values", () => index.Insert(new ulong[0], query));
        Throws(
            Native.SOTTO_ERROR_ARGUMENT, "a label twice", () => index.Insert(new[] { 7ul, 7ul }, RandomVectors(2, 5)));
        Throws(Native.SOTTO_ERROR_NOT_FOUND, "an update of no label", () => index.Update(7, query));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "a negative k", () => index.Search(query, -1));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no query", () => index.Search(null, 1));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no room", () => index.Search(query, new ulong[1], null, 2));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "less room", () => index.Search(query, new ulong[2], new float[1]));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "negative threads", () => index.Build(-1));
        Expect(index.Count == count, "refused vectors change nothing");
    }

    static void SaveIndex(SottoIndex index, float[] query)
    {
        var folder = NewFolder();
        var path = Path.Combine(folder, "索引 é.index");
        index.Save(path);
        var nearest = index.Search(query, 3);
        foreach (var mapped in new[] { false, true })
            using (var other = SottoIndex.LoadAsync(path, mapped).Result)
            {
                var found = other.Search(query, 3);
                Expect(other.Dim == Dim && other.Count == index.Count && other.IsBuilt, "a loaded index is whole");
                for (var i = 0; i < 3; ++i)
                    Expect(found[i].Label == nearest[i].Label, "a loaded index finds the same");
            }
        var bytes = File.ReadAllBytes(path);
        bytes[bytes.Length / 2] ^= 1;
        File.WriteAllBytes(path, bytes);
        Throws(Native.SOTTO_ERROR_STATE, "a damaged file", () => SottoIndex.Load(path));
        Throws(Native.SOTTO_ERROR_NOT_FOUND, "no file", () => SottoIndex.Load(path + "x"));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no path", () => SottoIndex.Load(null));
        Throws(Native.SOTTO_ERROR_STATE, "a folder that is not there", () => index.Save(Path.Combine(folder, "no", "x")));
        Directory.Delete(folder, true);
    }

    // An index that is built while empty; disposed twice, used afterwards, and while another thread searches.
    static void Empty()
    {
        var index = new SottoIndex(Dim, SottoIndexStorage.I8);
        index.BuildAsync().Wait();
        var query = RandomVectors(1, 2);
        Expect(index.Search(query, 3).Length == 0, "an empty index finds nothing");
        index.Insert(1, query);
        Expect(index.Search(query, 3).Length == 1, "it finds what is inserted");
        Exception thrown = null;
        var searches = 0;
        var thread = new Thread(() =>
        {
            try
            {
                for (; ; ++searches)
                    index.Search(query, 3);
            }
            catch (SottoException end)
            {
                thrown = end;
            }
        });
        thread.Start();
        while (Volatile.Read(ref searches) < 10)
            Thread.Sleep(1);
        index.Dispose();
        index.Dispose();
        thread.Join();
        Expect(thrown is SottoException end2 && end2.Status == Native.SOTTO_ERROR_ARGUMENT, $"a disposed index: {thrown}");
        Throws(Native.SOTTO_ERROR_ARGUMENT, "an insertion after the end", () => index.Insert(2, query));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "a count after the end", () => Expect(index.Count < 0, "a count"));
        for (var i = 0; i < 5000; ++i) // more than may live at once: those that are not disposed are collected
        {
            new SottoIndex(Dim);
            if (i % 500 != 499)
                continue;
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        new SottoIndex(Dim).Dispose();
    }

    static string NewFolder()
    {
        var folder = Path.Combine(Path.GetTempPath(), $"sotto-süite-{Guid.NewGuid()}");
        Directory.CreateDirectory(folder);
        return folder;
    }
}
