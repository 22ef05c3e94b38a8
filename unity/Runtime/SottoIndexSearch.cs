// Searches of a vector index; see index_search.h.
using System;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>A label that a search found.</summary>
    public readonly struct SottoIndexMatch
    {
        /// <summary>The label.</summary>
        public readonly ulong Label;

        /// <summary>Cosine distance: 0, same direction, to 2, opposite direction.</summary>
        public readonly float Distance;

        internal SottoIndexMatch(ulong label, float distance)
        {
            Label = label;
            Distance = distance;
        }
    }

    public sealed unsafe partial class SottoIndex
    {
        /// <summary>Finds the labels nearest to a query, nearest first. Never waits.</summary>
        /// <param name="query">A vector.</param>
        /// <param name="k">Number of matches wanted.</param>
        /// <param name="ef">Candidates kept, at least <paramref name="k"/>: more is more exact. 0: 64.</param>
        /// <param name="allowed">Labels that may be returned. Null: all.</param>
        public SottoIndexMatch[] Search(float[] query, int k, int ef = 0, ulong[] allowed = null)
        {
            var room = (int)Math.Min(Arguments.Count("k", k, "0 finds nothing"), Count);
            var labels = new ulong[room];
            var distances = new float[room];
            var found = new SottoIndexMatch[Search(query, labels, distances, room, ef, allowed)];
            for (var i = 0; i < found.Length; ++i)
                found[i] = new SottoIndexMatch(labels[i], distances[i]);
            return found;
        }

        /// <summary>
        /// Finds the labels nearest to a query, nearest first. Never waits, never allocates: for frames.
        /// </summary>
        /// <param name="query">A vector.</param>
        /// <param name="labels">Gets the labels.</param>
        /// <param name="distances">Gets as many cosine distances. Null: not reported.</param>
        /// <param name="k">Number of matches wanted. Negative: the length of <paramref name="labels"/>.</param>
        /// <param name="ef">Candidates kept, at least <paramref name="k"/>: more is more exact. 0: 64.</param>
        /// <param name="allowed">Labels that may be returned. Null: all.</param>
        /// <returns>The number of matches.</returns>
        public int Search(
            float[] query, ulong[] labels, float[] distances, int k = -1, int ef = 0, ulong[] allowed = null)
        {
            Vector("query", query);
            Arguments.Required("labels", labels, "room for the labels");
            var wanted = k < 0 ? labels.Length : k;
            if (labels.Length < wanted || distances != null && distances.Length < wanted)
                throw Arguments.Invalid(
                    $"invalid k '{wanted}': expected at most the length of labels and distances; pass longer arrays");
            var desc = new sotto_search_desc
            {
                struct_size = (uint)sizeof(sotto_search_desc),
                k = (uint)wanted,
                ef = Arguments.Count("ef", ef, "0 is the default"),
                allowed_count = allowed != null ? (ulong)allowed.Length : 0,
            };
            uint found;
            ulong none = 0; // so that an empty array does not mean all labels
            fixed (float* q = query, d = distances)
            fixed (ulong* l = labels, a = allowed)
            {
                desc.allowed = allowed != null && allowed.Length == 0 ? &none : a;
                Check(Native.sotto_index_search(At, &desc, q, (uint)query.Length, l, d, &found));
            }
            return (int)found;
        }

        /// <summary>
        /// Finds the labels nearest to a query in memory that the caller keeps in place, such as a NativeArray. Never
        /// waits, never allocates.
        /// </summary>
        /// <param name="query"><see cref="Dim"/> values.</param>
        /// <param name="k">Number of matches wanted.</param>
        /// <param name="labels">Gets at most <paramref name="k"/> labels.</param>
        /// <param name="distances">Gets as many cosine distances. Null: not reported.</param>
        /// <param name="ef">Candidates kept, at least <paramref name="k"/>: more is more exact. 0: 64.</param>
        /// <returns>The number of matches.</returns>
        public int Search(float* query, int k, ulong* labels, float* distances, int ef = 0)
        {
            var desc = new sotto_search_desc
            {
                struct_size = (uint)sizeof(sotto_search_desc),
                k = Arguments.Count("k", k, "0 finds nothing"),
                ef = Arguments.Count("ef", ef, "0 is the default"),
            };
            uint found;
            Check(Native.sotto_index_search(At, &desc, query, (uint)Dim, labels, distances, &found));
            return (int)found;
        }
    }
}
