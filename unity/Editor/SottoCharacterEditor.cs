// Inspector of a character, with a chat box that works in play mode.
using System.Collections.Generic;
using UnityEditor;
using UnityEngine;

namespace Sotto.Editor
{
    /// <summary>Shows the fields, and in play mode a chat with the character.</summary>
    [CustomEditor(typeof(SottoCharacter))]
    public sealed class SottoCharacterEditor : UnityEditor.Editor
    {
        const int MaxLines = 40;
        readonly List<string> _lines = new List<string>();
        SottoAnswer _answer;
        string _line = "";

        /// <summary>What was said here, oldest first.</summary>
        public IReadOnlyList<string> Lines => _lines;

        public override void OnInspectorGUI()
        {
            DrawDefaultInspector();
            EditorGUILayout.Space();
            EditorGUILayout.LabelField("Chat", EditorStyles.boldLabel);
            if (!Application.isPlaying)
            {
                EditorGUILayout.HelpBox("Press Play to talk to this character.", MessageType.Info);
                return;
            }
            foreach (var line in _lines)
                EditorGUILayout.LabelField(line, EditorStyles.wordWrappedLabel);
            var character = (SottoCharacter)target;
            if (_answer != null && !_answer.IsDone)
                EditorGUILayout.LabelField($"{character.name}: {character.Spoken}", EditorStyles.wordWrappedLabel);
            DrawInput(character);
        }

        /// <summary>Redraws while an answer is under way.</summary>
        public override bool RequiresConstantRepaint() => _answer != null && !_answer.IsDone;

        /// <summary>Says a line to the character; the answer is added when it is complete.</summary>
        public void Send(string line)
        {
            var character = (SottoCharacter)target;
            Add("You: " + line);
            try
            {
                _answer = character.SayAsync(line);
            }
            catch (SottoException refused)
            {
                Add("! " + refused.Message);
                return;
            }
            var name = character.name;
            _answer.Completed += answer =>
                Add(answer.Status < 0 ? "! " + answer.Error : $"{name}: {answer.Text}");
        }

        void DrawInput(SottoCharacter character)
        {
            EditorGUILayout.BeginHorizontal();
            _line = EditorGUILayout.TextField(_line);
            if (GUILayout.Button("Say") && _line.Length > 0)
            {
                Send(_line);
                _line = "";
            }
            if (GUILayout.Button("Cancel"))
                character.Cancel();
            EditorGUILayout.EndHorizontal();
        }

        void Add(string line)
        {
            _lines.Add(line);
            if (_lines.Count > MaxLines)
                _lines.RemoveAt(0);
        }
    }
}
