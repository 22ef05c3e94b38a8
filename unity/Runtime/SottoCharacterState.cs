// The state of a character that a game reads and writes, kept in the store beside its memories.
using System.Collections.Generic;
using System.Threading.Tasks;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>Mood, place, time and relationships of a character, as <c>sotto.npc.Character</c> keeps them.</summary>
    public sealed class SottoCharacterState
    {
        /// <summary>Mood, such as "calm".</summary>
        public string Mood { get; set; } = "";

        /// <summary>Where it is.</summary>
        public string Place { get; set; } = "";

        /// <summary>Time of day and weather, such as "evening, rain".</summary>
        public string Time { get; set; } = "";

        /// <summary>What persons are to the character: "Tobin" is "your son".</summary>
        public Dictionary<string, string> Relationships { get; } = new Dictionary<string, string>();

        /// <summary>Returns the state as JSON.</summary>
        public override string ToString()
        {
            var json = new SottoJsonWriter().BeginObject();
            json.Name("mood").Value(Mood ?? "").Name("place").Value(Place ?? "").Name("time").Value(Time ?? "");
            json.Name("relationships").BeginObject();
            foreach (var one in Relationships)
                json.Name(one.Key).Value(one.Value ?? "");
            return json.EndObject().EndObject().ToString();
        }

        /// <summary>Reads a state from JSON; unknown fields are skipped.</summary>
        /// <exception cref="SottoException">The text is not the JSON of a state.</exception>
        public static unsafe SottoCharacterState Parse(string text)
        {
            var state = new SottoCharacterState();
            var bytes = Utf8.Bytes(text);
            fixed (byte* b = bytes)
            {
                var json = new JsonReader(b, bytes.Length);
                json.BeginObject();
                for (var name = json.NextField(); name != null; name = json.NextField())
                    state.ReadField(name, ref json);
            }
            return state;
        }

        void ReadField(string name, ref JsonReader json)
        {
            switch (name)
            {
                case "mood": Mood = json.Text() ?? ""; break;
                case "place": Place = json.Text() ?? ""; break;
                case "time": Time = json.Text() ?? ""; break;
                case "relationships":
                    json.BeginObject();
                    for (var who = json.NextField(); who != null; who = json.NextField())
                        Relationships[who] = json.Text() ?? "";
                    break;
                default: json.Skip(); break;
            }
        }
    }

    public sealed partial class SottoCharacterMemory
    {
        const string States = "sotto.npc states"; // namespace of the states of all characters

        string StateId => "sotto.npc/" + Character;

        /// <summary>Writes the state of the character to the store, in place of an earlier one.</summary>
        public void SaveState(SottoCharacterState state)
        {
            var value = Arguments.Required("state", state, "the state to save").ToString();
            _store.Insert(new[] { new SottoStoreEntry(value, States) { Id = StateId } }, replace: true);
        }

        /// <summary>Returns the state of the character that the store holds; null without one.</summary>
        public SottoCharacterState LoadState()
        {
            var entry = _store.Get(StateId);
            return entry != null ? SottoCharacterState.Parse(entry.Value) : null;
        }

        /// <summary>Writes the state on a thread of the pool; do not change it until then.</summary>
        public Task SaveStateAsync(SottoCharacterState state) => Task.Run(() => SaveState(state));

        /// <summary>Reads the state on a thread of the pool, as <see cref="LoadState"/>.</summary>
        public Task<SottoCharacterState> LoadStateAsync() => Task.Run(() => LoadState());
    }
}
