// The store through the Unity runtime's class.
using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;
using System.Threading.Tasks;
using Sotto;
using Sotto.Interop;

static partial class Program
{
    static void Store()
    {
        var folder = NewFolder();
        using (var store = SottoStore.Open(folder, "überlieferung", 3))
        {
            Entries(store);
            Changes(store);
            Queries(store);
            Pages(store);
            BadStoreInput(store, folder);
            Throws(Native.SOTTO_ERROR_BUSY, "a store that is open", () => SottoStore.Open(folder, "überlieferung"));
            store.CheckFile();
            store.Compact();
        }
        Expect(string.Join(",", SottoStore.Ids(folder)) == "überlieferung", "a folder lists its stores");
        Reopen(folder);
        Closed(folder);
        StoreAsync(folder).Wait();
        Directory.Delete(folder, true);
    }

    static void Entries(SottoStore store)
    {
        const string text = "\"Zitat\" \\ 夜の門番 🏰\n\t\u0001";
        var given = new SottoStoreEntry(text, "mara")
        {
            Id = "eins", Key = "Tor", Priority = -2.5, Importance = 0.125, CreatedMs = 5, AccessedMs = 7,
            Metadata = "{\"place\": \"inn\", \"room\": {\"floor\": 2}, \"list\": [1, [], {}]}",
            Embedding = new[] { 0.1f, -3e-7f, 12345.678f },
        };
        Expect(store.Insert(given) == "eins", "an entry keeps its id");
        var read = store.Get("eins", true);
        Expect(read.Value == text && read.Key == "Tor" && read.Namespace == "mara", $"text comes back: {read.Value}");
        Expect(read.Priority == -2.5 && read.Importance == 0.125, "numbers come back");
        Expect(read.CreatedMs == 5 && read.AccessedMs == 7, "times come back");
        Expect(SottoJson.Field(read.Metadata, "place", out _) == "inn", $"metadata come back: {read.Metadata}");
        for (var i = 0; i < 3; ++i)
            Expect(read.Embedding[i] == given.Embedding[i], $"value {i} comes back: {read.Embedding[i]:R}");
        Expect(store.Get("eins").Embedding == null, "an embedding comes on demand");
        Expect(store.Get("zwei") == null, "an unknown id has no entry");
        Throws(Native.SOTTO_ERROR_STATE, "an id that exists", () => store.Insert(given));
        given.Value = "new";
        Expect(store.Insert(new[] { given }, replace: true)[0] == "eins", "an entry is replaced");
        Expect(store.Get("eins").Value == "new" && store.Count() == 1, "by the new one");
        var before = (long)(DateTime.UtcNow - new DateTime(1970, 1, 1)).TotalMilliseconds;
        var ids = store.Insert(
            new[] { new SottoStoreEntry("a"), new SottoStoreEntry { Key = "b" } }, new float[] { 1, 0, 0, 0, 1, 0 });
        Expect(ids.Length == 2 && ids[0].Length > 0 && ids[0] != ids[1], "entries without an id get one");
        var b = store.Get(ids[1], true);
        Expect(b.Embedding[1] == 1 && b.Embedding[0] == 0, "embeddings are in the order of the entries");
        Expect(b.Importance == 0.5 && b.Priority == 1 && b.Metadata == "{}", "fields have defaults");
        Expect(Math.Abs(b.CreatedMs - before) < 60000 && b.AccessedMs == b.CreatedMs, "the time is now");
        var info = store.Info();
        Expect(
            info.Id == store.Id && info.Dim == 3 && info.Entries == 3 && info.Embeddings == 3 && info.FileBytes > 0
            && !info.IsReadOnly, "a store describes itself");
        Expect(store.Insert(new SottoStoreEntry[0]).Length == 0, "no entry is inserted");
    }

    static void Changes(SottoStore store)
    {
        var changes = new SottoStoreChanges { Importance = 1, Metadata = "{\"kind\": \"x\"}", RemovesEmbedding = true };
        Expect(store.Update("eins", changes), "an entry is changed");
        var read = store.Get("eins", true);
        Expect(read.Importance == 1 && read.Value == "new" && read.Embedding == null, "only the given fields");
        Expect(SottoJson.Field(read.Metadata, "kind", out _) == "x", read.Metadata);
        store.Update("eins", new SottoStoreChanges
        {
            Namespace = "", Key = "", Value = "v", Priority = 3, AccessedMs = 9, Embedding = new float[] { 0, 0, 2 },
        });
        read = store.Get("eins", true);
        Expect(
            read.Namespace == "" && read.Key == "" && read.Value == "v" && read.Priority == 3 && read.AccessedMs == 9
            && read.Embedding[2] == 2, "every field changes");
        Expect(!store.Update("zwei", changes), "an unknown id has nothing to change");
        Expect(store.Remove("zwei") == 0 && store.Remove("eins", "zwei") == 1, "entries are removed by id");
        Expect(store.RemoveWhere(new SottoStoreFilter()) == 2 && store.Count() == 0, "an empty filter removes all");
    }

    static void Queries(SottoStore store)
    {
        var rooms = new List<SottoStoreEntry>();
        for (var i = 0; i < 6; ++i)
            rooms.Add(new SottoStoreEntry($"room {i} has a bed", i < 3 ? "mara" : "odo")
            {
                Id = $"r{i}", Key = i == 4 ? "Attic" : "Room", Importance = i / 10.0, CreatedMs = 1000,
                Metadata = $"{{\"at\": {{\"floor\": {i}}}, \"mood\": \"m{i}\", \"open\": {(i < 2 ? "true" : "false")}}}",
                Embedding = new float[] { 6 - i, i, 0 },
            });
        store.Insert(rooms);
        var found = store.Query(new SottoStoreQuery { Embedding = new float[] { 0, 1, 0 }, Limit = 2, WithEmbedding = true });
        Expect(found.Length == 2 && found[0].Entry.Id == "r5" && found[1].Entry.Id == "r4", "the nearest come first");
        Expect(found[0].Similarity > 0.9 && found[0].TextScore == null, $"similarity: {found[0].Similarity}");
        Expect(Math.Abs(found[0].Score - found[0].Relevance) < 1e-9 && found[0].Entry.Embedding[1] == 5, "score");
        found = store.Query(new SottoStoreQuery { Text = "attic" });
        Expect(found.Length == 1 && found[0].Entry.Id == "r4" && found[0].TextScore > 0, "words are found in keys");
        Expect(found[0].Similarity == null && found[0].Relevance == 1, "the best match is relevant");
        found = store.Query(new SottoStoreQuery { Text = "bed", Namespace = "odo", Embedding = new float[] { 1, 0, 0 } });
        Expect(found.Length == 3 && found[0].Entry.Id == "r3", "both, in a namespace");
        found = store.Query(new SottoStoreQuery
        {
            Text = "bed", RelevanceWeight = 0, ImportanceWeight = 1, Limit = 1, NowMs = 3000, HalfLifeSeconds = 2,
            Touch = true, Candidates = 100, Prefilter = false,
        });
        Expect(found[0].Entry.Id == "r5" && Math.Abs(found[0].Recency - 0.5) < 1e-6, $"weights: {found[0].Recency}");
        Expect(store.Get("r5").AccessedMs == 3000 && store.Get("r4").AccessedMs == 1000, "a match is touched");
        Filters(store);
    }

    static void Filters(SottoStore store)
    {
        var some = new Dictionary<string, SottoStoreWhere>
        {
            ["r2"] = new SottoStoreWhere().Equal("mood", "m2"),
            ["r1"] = new SottoStoreWhere().Equal("at.floor", 1),
            ["r0,r1"] = new SottoStoreWhere().Equal("open", true),
            ["r2,r3"] = new SottoStoreWhere().AtLeast("at.floor", 2).Below("at.floor", 4),
            ["r3"] = new SottoStoreWhere().Above("at.floor", 2).AtMost("at.floor", 4).NotEqual("mood", "m4"),
            ["r0,r5"] = new SottoStoreWhere().In("mood", "m0", "m5", "夜\""),
            [""] = new SottoStoreWhere().Equal("mood", "m2").Equal("open", true),
        };
        foreach (var one in some)
        {
            var filter = new SottoStoreFilter { Where = one.Value };
            var ids = string.Join(",", store.List(filter).ConvertAll(entry => entry.Id));
            Expect(ids == one.Key, $"{filter}: {ids}");
            Expect(store.Count(filter) == (ids.Length + 1) / 3, $"{filter}: {store.Count(filter)}");
        }
        var attic = new SottoStoreFilter { KeyContains = "aTT", Namespace = "odo" };
        Expect(store.Count(attic) == 1 && store.RemoveWhere(attic) == 1 && store.Count(attic) == 0, "a part of the key");
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no number", () => new SottoStoreWhere().Above("x", double.NaN));
    }

    static void Pages(SottoStore store)
    {
        var many = new List<SottoStoreEntry>();
        for (var i = 0; i < 2345; ++i)
            many.Add(new SottoStoreEntry($"line {i}", "many"));
        store.Insert(many);
        var all = store.List(new SottoStoreFilter { Namespace = "many" });
        Expect(all.Count == many.Count, $"a list has every page: {all.Count}");
        for (var i = 0; i < all.Count; ++i)
            if (all[i].Value != $"line {i}")
                Expect(false, $"entry {i} is {all[i].Value}");
        Expect(store.RemoveWhere(new SottoStoreFilter { Namespace = "many" }) == many.Count, "all are removed");
    }

    static void BadStoreInput(SottoStore store, string folder)
    {
        var count = store.Count();
        foreach (var id in new[] { "", null, "a/b", "..", "a\\b", new string('x', 101), "nul\0l" })
            Throws(Native.SOTTO_ERROR_ARGUMENT, $"a store '{id}'", () => SottoStore.Open(folder, id));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no folder", () => SottoStore.Open(null, "x"));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "a negative dim", () => SottoStore.Open(folder, "x", -1));
        Throws(Native.SOTTO_ERROR_NOT_FOUND, "no store", () => SottoStore.Open(folder, "x", create: false));
        Throws(Native.SOTTO_ERROR_NOT_FOUND, "no store to delete", () => SottoStore.Delete(folder, "x"));
        var entry = new SottoStoreEntry("v");
        Throws(Native.SOTTO_ERROR_STATE, "a wrong dim", () => store.Insert(new[] { entry }, new float[] { 1, 2, 3, 4 }));
        entry.Embedding = new float[] { 1, 2 };
        Throws(Native.SOTTO_ERROR_STATE, "a wrong dim in an entry", () => store.Insert(entry), Native.SOTTO_ERROR_ARGUMENT);
        entry.Embedding = new[] { 1, float.NaN, 3 };
        Throws(Native.SOTTO_ERROR_ARGUMENT, "a value that is no number", () => store.Insert(entry));
        entry.Embedding = null;
        entry.Metadata = "{\"a\": ";
        Throws(Native.SOTTO_ERROR_ARGUMENT, "damaged metadata", () => store.Insert(entry));
        entry.Metadata = "[1]";
        Throws(Native.SOTTO_ERROR_ARGUMENT, "metadata that are no object", () => store.Insert(entry));
        entry.Metadata = "{}";
        entry.Importance = 1.5;
        Throws(Native.SOTTO_ERROR_ARGUMENT, "an importance above 1", () => store.Insert(entry));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "an empty entry", () => store.Insert(new SottoStoreEntry()));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no entry", () => store.Insert((SottoStoreEntry)null));
        Throws(
            Native.SOTTO_ERROR_ARGUMENT, "no list", () => store.Insert((IReadOnlyList<SottoStoreEntry>)null));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no changes", () => store.Update("r1", null));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no filter", () => store.RemoveWhere(null));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no query", () => store.Query(null));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "a limit of 0", () => store.Query(new SottoStoreQuery { Limit = 0 }));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "no ids", () => store.Remove(null));
        Expect(store.Count() == count, "refused calls change nothing");
    }

    static void Reopen(string folder)
    {
        using (var reader = SottoStore.Open(folder, "überlieferung", readOnly: true))
        using (var another = SottoStore.Open(folder, "überlieferung", readOnly: true))
        {
            Expect(reader.Get("r1").Value == "room 1 has a bed" && another.Count() == 5, "a store is kept");
            Expect(reader.Info().IsReadOnly && reader.Info().Dim == 3, "and read");
            Throws(Native.SOTTO_ERROR_STATE, "writing to a reader", () => reader.Insert(new SottoStoreEntry("v")));
        }
        Throws(Native.SOTTO_ERROR_STATE, "another dim", () => SottoStore.Open(folder, "überlieferung", 4));
        SottoStore.Delete(folder, "überlieferung");
        Expect(SottoStore.Ids(folder).Length == 0, "a store is deleted");
    }

    static void Closed(string folder)
    {
        var store = SottoStore.Open(folder, "closed");
        SottoException ended = null;
        var inserted = 0;
        var thread = new Thread(() =>
        {
            try
            {
                for (; ; Interlocked.Increment(ref inserted))
                    store.Insert(new SottoStoreEntry("line"));
            }
            catch (SottoException end)
            {
                ended = end;
            }
        });
        thread.Start();
        while (Volatile.Read(ref inserted) < 3)
            Thread.Sleep(1);
        store.Dispose();
        store.Dispose();
        thread.Join();
        Expect(
            ended != null && ended.Status == Native.SOTTO_ERROR_STATE && ended.Message.Contains("is closed"),
            $"a store that is disposed meanwhile: {ended}");
        Throws(Native.SOTTO_ERROR_STATE, "a call after the end", () => store.Count());
        Throws(Native.SOTTO_ERROR_STATE, "a look-up after the end", () => store.Get("x"));
        using (var again = SottoStore.Open(folder, "closed", create: false))
            Expect(again.Count() == inserted, $"{inserted} entries are kept: {again.Count()}");
        ForgetStores(folder);
    }

    // A store that nobody disposes is closed when another is opened, once it is unreachable. Threads of their own see
    // the store, because a conservative garbage collector finds old pointers on the stack of this one.
    static void ForgetStores(string folder)
    {
        var opened = false;
        OnThread(() => opened = SottoStore.Open(folder, "closed").Count() > 0);
        Expect(opened, "a store is forgotten");
        for (var i = 0; i < 10; ++i)
            OnThread(() =>
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            });
        OnThread(() => SottoStore.Open(folder, "closed").Dispose());
        SottoStore.Delete(folder, "closed");
    }

    static void OnThread(Action work)
    {
        Exception thrown = null;
        var thread = new Thread(() =>
        {
            try
            {
                work();
            }
            catch (Exception e)
            {
                thrown = e;
            }
        });
        thread.Start();
        thread.Join();
        Expect(thrown == null, $"on another thread: {thrown}");
    }

    static async Task StoreAsync(string folder)
    {
        var store = await SottoStore.OpenAsync(folder, "async", 2).ConfigureAwait(false);
        var id = await store.InsertAsync(new SottoStoreEntry("one") { Embedding = new float[] { 1, 0 } })
            .ConfigureAwait(false);
        var ids = await store.InsertAsync(new[] { new SottoStoreEntry("two") }, new float[] { 0, 1 })
            .ConfigureAwait(false);
        Expect(await store.CountAsync().ConfigureAwait(false) == 2, "entries are counted on another thread");
        await store.UpdateAsync(id, new SottoStoreChanges { Value = "uno" }).ConfigureAwait(false);
        Expect((await store.GetAsync(id).ConfigureAwait(false)).Value == "uno", "changed and read");
        var found = await store.QueryAsync(new SottoStoreQuery { Embedding = new float[] { 0, 1 } })
            .ConfigureAwait(false);
        Expect(found[0].Entry.Id == ids[0], "found");
        Expect((await store.ListAsync().ConfigureAwait(false)).Count == 2, "listed");
        Expect(await store.RemoveAsync(id).ConfigureAwait(false) == 1, "removed");
        Expect(await store.RemoveWhereAsync(new SottoStoreFilter()).ConfigureAwait(false) == 1, "removed by a filter");
        await store.CloseAsync().ConfigureAwait(false);
        try
        {
            await store.CountAsync().ConfigureAwait(false);
            Expect(false, "a closed store throws");
        }
        catch (SottoException closed)
        {
            Expect(closed.Status == Native.SOTTO_ERROR_STATE, $"a closed store: {closed.Message}");
        }
    }
}
