// What a character remembers, and the rule by which it forgets.
using System;
using System.Security.Cryptography;
using System.Text;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>How a character came to know something.</summary>
    public enum SottoMemoryKind
    {
        /// <summary>Told by the game.</summary>
        Fact,

        /// <summary>Said in a conversation.</summary>
        Said,

        /// <summary>Overheard.</summary>
        Heard,

        /// <summary>A summary of turns.</summary>
        Summary,
    }

    /// <summary>One thing that a character remembers.</summary>
    public sealed class SottoMemory
    {
        /// <summary>Id of the entry in the store.</summary>
        public string Id { get; }

        /// <summary>The sentence.</summary>
        public string Text { get; }

        /// <summary>How the character came to know it.</summary>
        public SottoMemoryKind Kind { get; }

        /// <summary>From 0 to 1.</summary>
        public double Importance { get; }

        /// <summary>When it was added, or recalled for an answer, last: seconds of the clock.</summary>
        public double Used { get; }

        /// <summary>Creates a memory.</summary>
        public SottoMemory(string id, string text, SottoMemoryKind kind, double importance, double used)
        {
            Id = id;
            Text = text;
            Kind = kind;
            Importance = importance;
            Used = used;
        }

        internal SottoMemory(SottoStoreEntry entry)
            : this(
                entry.Id, entry.Value, KindOf(SottoJson.Field(entry.Metadata, "kind", out _)), entry.Importance,
                entry.AccessedMs / 1000.0)
        {
        }

        /// <summary>Returns a kind as metadata have it.</summary>
        internal static string NameOf(SottoMemoryKind kind)
        {
            switch (kind)
            {
                case SottoMemoryKind.Fact: return "fact";
                case SottoMemoryKind.Said: return "said";
                case SottoMemoryKind.Heard: return "heard";
                case SottoMemoryKind.Summary: return "summary";
                default:
                    throw Arguments.Invalid(
                        $"invalid kind '{(int)kind}': expected Fact, Said, Heard or Summary");
            }
        }

        static SottoMemoryKind KindOf(string name) =>
            name == "said" ? SottoMemoryKind.Said
            : name == "heard" ? SottoMemoryKind.Heard
            : name == "summary" ? SottoMemoryKind.Summary : SottoMemoryKind.Fact;

        /// <summary>Returns a text on one line, with single spaces, as Python's `str.split()` separates words.</summary>
        internal static string Line(string text)
        {
            var line = new StringBuilder(text.Length);
            foreach (var c in text)
                if (!IsSpace(c))
                    line.Append(c);
                else if (line.Length > 0 && line[line.Length - 1] != ' ')
                    line.Append(' ');
            return line.ToString().TrimEnd(' ');
        }

        /// <summary>Returns the id of the entry that holds a line, the same as in Python.</summary>
        internal static string IdOf(string space, string line)
        {
            var id = new StringBuilder(space.Length + 33).Append(space).Append('/');
            using (var sha = SHA256.Create())
            {
                var hash = sha.ComputeHash(Utf8.Bytes(line));
                for (var i = 0; i < 16; ++i)
                    id.Append("0123456789abcdef"[hash[i] >> 4]).Append("0123456789abcdef"[hash[i] & 15]);
            }
            return id.ToString();
        }

        static bool IsSpace(char c) =>
            c <= ' ' ? c == ' ' || c >= '\t' && c <= '\r' || c >= '\x1c'
            : c == '\x85' || c == '\xa0' || c == '\u1680' || c >= '\u2000' && c <= '\u200a'
                || c == '\u2028' || c == '\u2029' || c == '\u202f' || c == '\u205f' || c == '\u3000';
    }

    /// <summary>The rule by which memories are deleted.</summary>
    /// <remarks>
    /// The strength of a memory is <c>importance * 0.5 ^ (age / half-life)</c>; its age counts from when it was added or
    /// recalled last. A memory of importance 1 keeps its strength. Where a character has more memories than
    /// <see cref="Most"/>, the weakest are deleted, down to 9 tenths of it.
    /// </remarks>
    public sealed class SottoForgetting
    {
        /// <summary>Maximum number of memories of a character.</summary>
        public int Most { get; }

        /// <summary>Seconds in which a strength halves.</summary>
        public double HalfLifeSeconds { get; }

        /// <summary>Creates a rule.</summary>
        /// <param name="most">Maximum number of memories of a character, from 0.</param>
        /// <param name="halfLifeSeconds">Seconds in which a strength halves, more than 0.</param>
        public SottoForgetting(int most = 2000, double halfLifeSeconds = 7 * 24 * 3600.0)
        {
            Arguments.Count("most", most, "0 keeps nothing");
            if (!(halfLifeSeconds > 0) || double.IsInfinity(halfLifeSeconds))
                throw Arguments.Invalid(
                    $"invalid halfLifeSeconds '{halfLifeSeconds}': expected a finite number of seconds above 0");
            Most = most;
            HalfLifeSeconds = halfLifeSeconds;
        }

        /// <summary>Returns the strength of a memory at a time, from 0 to 1.</summary>
        /// <param name="memory">The memory.</param>
        /// <param name="now">Seconds of the clock.</param>
        public double Strength(SottoMemory memory, double now) =>
            memory.Importance >= 1 ? 1
                : memory.Importance * Math.Pow(0.5, Math.Max(0, now - memory.Used) / HalfLifeSeconds);
    }
}
