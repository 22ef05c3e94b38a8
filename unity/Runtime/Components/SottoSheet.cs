// A character sheet, as an asset.
using System.Collections.Generic;
using System.Text;
using UnityEngine;

namespace Sotto
{
    /// <summary>Who a character is and what it knows: the system message of its conversation.</summary>
    /// <remarks>
    /// The house model reads the lines of this form; set <see cref="prose"/> for other models.
    /// </remarks>
    [CreateAssetMenu(menuName = "Sotto/Character Sheet", fileName = "Sheet")]
    public sealed class SottoSheet : ScriptableObject
    {
        /// <summary>The moods that the house model knows.</summary>
        public static readonly string[] Moods =
            { "calm", "happy", "sad", "angry", "afraid", "weary", "proud", "curious", "sly", "worried" };

        [Header("Who")]
        public string fullName = "";

        [Tooltip("Trade, lower case, without an article: innkeeper")]
        public string role = "";

        [Tooltip("gruff, courtly, sly, pious, childlike, cheerful, weary, learned, boastful, timid, dreamy, brisk")]
        public string manner = "";

        [Tooltip("House, then town: the Kettle and Crow, Millbrook")]
        public string place = "";

        [Tooltip("Time of day, weather: evening, rain")]
        public string time = "";

        public string mood = "";

        [Tooltip("Name of the player, if the character knows it.")]
        public string visitor = "";

        [Header("What it knows, one entry a line")]
        [Tooltip("person: relation")]
        public List<string> relationships = new List<string>();

        [Tooltip("ware: price")]
        public List<string> prices = new List<string>();

        [Tooltip("title (open): task; reward")]
        public List<string> quests = new List<string>();

        [Tooltip("Whole sentences.")]
        public List<string> rumours = new List<string>();

        [Tooltip("Whole sentences.")]
        public List<string> facts = new List<string>();

        [Tooltip("Whole sentences.")]
        public List<string> memories = new List<string>();

        [Header("Decisions")]
        [Tooltip("The character answers with a JSON object: say, emotion, and an action of the list below.")]
        public bool decides;

        [Tooltip("point, offer, wave, nod, shrug, bow, whisper, ask, give, none")]
        public List<string> actions = new List<string>();

        [Header("Other models")]
        [Tooltip("The whole system message as text; replaces the lines above.")]
        [TextArea(4, 20)]
        public string prose = "";

        /// <summary>Returns the system message.</summary>
        public string ToPrompt() => ToPrompt(null);

        /// <summary>Returns the system message with what the character recalls.</summary>
        /// <param name="recalled">Facts follow those of the sheet, others its memories. Null: none.</param>
        public string ToPrompt(IEnumerable<SottoMemory> recalled)
        {
            List<string> allFacts = new List<string>(), allMemories = new List<string>();
            if (prose.Length == 0)
            {
                allFacts.AddRange(facts);
                allMemories.AddRange(memories);
            }
            foreach (var memory in recalled ?? new SottoMemory[0])
                (memory.Kind == SottoMemoryKind.Fact ? allFacts : allMemories).Add(memory.Text);
            var lines = new StringBuilder();
            if (prose.Length > 0)
            {
                Entries(lines.Append(prose).Append('\n'), "Facts", allFacts);
                Entries(lines, "Memories", allMemories);
                return allFacts.Count + allMemories.Count > 0 ? lines.ToString().TrimEnd('\n') : prose;
            }
            Line(lines, "Name", fullName);
            Line(lines, "Role", role);
            Line(lines, "Manner", manner);
            Line(lines, "Place", place);
            Line(lines, "Time", time);
            Line(lines, "Mood", mood);
            Line(lines, "Visitor", visitor);
            Entries(lines, "Relationships", relationships);
            Entries(lines, "Prices", prices);
            Entries(lines, "Quests", quests);
            Entries(lines, "Rumours", rumours);
            Entries(lines, "Facts", allFacts);
            Entries(lines, "Memories", allMemories);
            Line(lines, "Actions", string.Join(", ", actions));
            if (decides)
                Line(lines, "Answer as", actions.Count > 0 ? "JSON (say, emotion, action)" : "JSON (say, emotion)");
            return lines.ToString().TrimEnd('\n');
        }

        /// <summary>Returns the schema of a decision, or null if the character only speaks.</summary>
        public SottoSchema ToSchema()
        {
            if (!decides)
                return null;
            var schema = new SottoSchema().String("say", maxLength: 240).Enum("emotion", Moods);
            return actions.Count > 0 ? schema.Enum("action", actions.ToArray()) : schema;
        }

        static void Line(StringBuilder lines, string title, string text)
        {
            if (!string.IsNullOrEmpty(text))
                lines.Append(title).Append(": ").Append(text.Replace('\n', ' ')).Append('\n');
        }

        static void Entries(StringBuilder lines, string title, List<string> entries)
        {
            if (entries.Count == 0)
                return;
            lines.Append(title).Append(":\n");
            foreach (var entry in entries)
                lines.Append("- ").Append(entry.Replace('\n', ' ')).Append('\n');
        }
    }
}
