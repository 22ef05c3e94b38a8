// Stand-ins for immediate-mode GUI: they draw nothing, and a test presses buttons through Doubles.Gui.
using System.Collections.Generic;

namespace Doubles
{
    /// <summary>What the GUI shows, and which buttons are pressed. Not part of Unity.</summary>
    public static class Gui
    {
        public static readonly List<string> Shown = new List<string>();
        public static readonly Dictionary<string, string> Typed = new Dictionary<string, string>();
        public static string Pressed = "";

        internal static bool Press(string text)
        {
            var pressed = text == Pressed;
            Pressed = pressed ? "" : Pressed;
            return pressed;
        }
    }
}

namespace UnityEngine
{
    public sealed class GUIStyle
    {
    }

    public sealed class GUILayoutOption
    {
        internal GUILayoutOption()
        {
        }
    }

    public class GUI
    {
        public static void Box(Rect position, string text) => Doubles.Gui.Shown.Add(text);
        public static void Label(Rect position, string text) => Doubles.Gui.Shown.Add(text);
        public static string TextField(Rect position, string text) =>
            Doubles.Gui.Typed.TryGetValue("", out var typed) ? typed : text;
        public static bool Button(Rect position, string text) => Doubles.Gui.Press(text);
    }

    public class GUILayout
    {
        public static bool Button(string text, params GUILayoutOption[] options) => Doubles.Gui.Press(text);
    }

    public class GUILayoutUtility
    {
        public static Rect GetRect(float width, float height) => new Rect(0, 0, width, height);
    }
}
