// A tavern room with four characters, made from code: put this component on an empty object and press Play.
using System.Collections.Generic;
using UnityEngine;

namespace Sotto.Samples
{
    /// <summary>
    /// Makes the room, draws speech bubbles, and sends what the player types to all or to one character.
    /// </summary>
    public sealed class Tavern : MonoBehaviour
    {
        const float Bubble = 220, Margin = 16;
        const string Slot = "tavern.sotto"; // below persistentDataPath/Sotto
        readonly List<SottoCharacter> _characters = new List<SottoCharacter>();
        readonly Dictionary<SottoCharacter, string> _bubbles = new Dictionary<SottoCharacter, string>();
        string _line = "What news?";
        string _notice = "";

        /// <summary>The characters, from left to right.</summary>
        public IReadOnlyList<SottoCharacter> Guests => _characters;

        void Start()
        {
            var player = new GameObject("Player").transform;
            foreach (var sheet in Sheets())
                Seat(sheet, player);
        }

        void OnGUI()
        {
            for (var i = 0; i < _characters.Count; ++i)
                DrawBubble(_characters[i], Margin + i * (Bubble + Margin));
            var y = Screen.height - 48;
            _line = GUI.TextField(new Rect(Margin, y, Screen.width - 160, 32), _line);
            if (GUI.Button(new Rect(Screen.width - 136, y, 120, 32), "Say to all"))
                SayToAll(_line);
            if (GUI.Button(new Rect(Margin, Margin, 80, 28), "Save"))
                Report("Saved", SottoRuntime.For().SaveGameAsync(Slot));
            if (GUI.Button(new Rect(112, Margin, 80, 28), "Load"))
                Report("Loaded", SottoRuntime.For().RestoreGameAsync(Slot));
            GUI.Label(new Rect(208, Margin, Screen.width - 208, 28), _notice);
        }

        void Report(string what, SottoAnswer request) =>
            request.Completed += done => _notice = done.Status < 0 ? done.Error : what;

        /// <summary>Says a line to every character; they answer at the same time.</summary>
        public void SayToAll(string line)
        {
            foreach (var one in _characters)
                one.Say(line);
        }

        void DrawBubble(SottoCharacter character, float x)
        {
            GUI.Box(new Rect(x, 80, Bubble, 160), $"{character.name}\n\n{_bubbles[character]}");
            if (GUI.Button(new Rect(x, 248, Bubble, 28), "Say to " + character.name))
                character.Say(_line);
        }

        void Seat(SottoSheet sheet, Transform player)
        {
            var body = GameObject.CreatePrimitive(PrimitiveType.Capsule);
            body.name = sheet.fullName;
            body.transform.position = new Vector3(3 * _characters.Count, 0, 3 * _characters.Count);
            body.SetActive(false); // until the character has its sheet
            var character = body.AddComponent<SottoCharacter>();
            character.sheet = sheet;
            character.sessionId = sheet.fullName; // so that a save game finds it again
            character.remembers = SottoSettings.Default.embeddingModel.Length > 0;
            character.listener = player;
            character.targetTps = 24;
            character.temperature = 0;
            character.onText.AddListener(text => _bubbles[character] = text);
            character.onFailed.AddListener(error => _bubbles[character] = error);
            body.SetActive(true);
            _characters.Add(character);
            _bubbles[character] = "";
        }

        static IEnumerable<SottoSheet> Sheets()
        {
            var brenna = Sheet("Brenna Oakhollow", "innkeeper", "cheerful");
            brenna.prices.AddRange(new[] { "stew: 4 copper", "a bed for the night: 9 copper" });
            brenna.facts.Add("The autumn dance begins at the ninth bell.");
            yield return brenna;
            var garrick = Sheet("Garrick Stonefield", "smith", "gruff");
            garrick.prices.Add("a dagger: 12 silver");
            garrick.quests.Add("The Stolen Hammer (open): learn who stole the black hammer; reward 15 silver");
            yield return garrick;
            var silvane = Sheet("Silvane Duskmere", "pedlar", "sly");
            silvane.rumours.Add("Captain Varga saw a ghost behind the chapel.");
            silvane.facts.Add("The password of the harbour is blackbird.");
            yield return silvane;
            var pip = Sheet("Pip", "groom", "childlike");
            pip.facts.Add("There are three horses in the stable.");
            yield return pip;
        }

        static SottoSheet Sheet(string fullName, string role, string manner)
        {
            var sheet = ScriptableObject.CreateInstance<SottoSheet>();
            sheet.fullName = fullName;
            sheet.role = role;
            sheet.manner = manner;
            sheet.place = "the Kettle and Crow, Millbrook";
            sheet.time = "night, rain";
            sheet.visitor = "Ilse";
            return sheet;
        }
    }
}
