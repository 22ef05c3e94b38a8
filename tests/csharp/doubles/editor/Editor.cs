// Stand-ins for UnityEditor: inspectors, windows, assets, and the events that LiveHandles hears.
using System;
using System.Collections.Generic;
using System.Reflection;
using Doubles;
using UnityEngine;

namespace Doubles
{
    /// <summary>Drives the editor's stand-ins. Not part of Unity.</summary>
    public static class EditorPlayer
    {
        public static readonly Dictionary<string, UnityEngine.Object> Assets = new Dictionary<string, UnityEngine.Object>();
        public static readonly Dictionary<string, string> Session = new Dictionary<string, string>();
        public static string Package = "";
        public static bool IsBuilding;

        public static void ReloadAssemblies() => UnityEditor.AssemblyReloadEvents.Raise();

        /// <summary>What the editor does when it has loaded scripts, at its start and after each reload.</summary>
        public static void LoadScripts()
        {
            const BindingFlags any = BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic;
            foreach (var type in Assembly.GetEntryAssembly().GetTypes())
                foreach (var method in type.GetMethods(any))
                    if (method.IsDefined(typeof(UnityEditor.InitializeOnLoadMethodAttribute), false))
                        method.Invoke(null, null);
        }

        public static void Quit() => UnityEditor.EditorApplication.RaiseQuitting();
        public static void Change(UnityEditor.PlayModeStateChange change) => UnityEditor.EditorApplication.Raise(change);
    }
}

namespace UnityEditor
{
    public static class AssemblyReloadEvents
    {
        public delegate void AssemblyReloadCallback();

        public static event AssemblyReloadCallback beforeAssemblyReload;

        internal static void Raise() => beforeAssemblyReload?.Invoke();
    }

    public enum PlayModeStateChange
    {
        EnteredEditMode,
        ExitingEditMode,
        EnteredPlayMode,
        ExitingPlayMode,
    }

    public sealed class EditorApplication
    {
        public static event Action quitting;
        public static event Action<PlayModeStateChange> playModeStateChanged;

        internal static void RaiseQuitting() => quitting?.Invoke();
        internal static void Raise(PlayModeStateChange change) => playModeStateChanged?.Invoke(change);
    }

    [AttributeUsage(AttributeTargets.Method)]
    public class InitializeOnLoadMethodAttribute : Attribute
    {
    }

    public class SessionState
    {
        public static void SetString(string key, string value) => EditorPlayer.Session[key] = value;

        public static string GetString(string key, string defaultValue) =>
            EditorPlayer.Session.TryGetValue(key, out var value) ? value : defaultValue;

        public static void EraseString(string key) => EditorPlayer.Session.Remove(key);
    }

    public class Editor : ScriptableObject
    {
        public UnityEngine.Object target { get; set; }

        public virtual void OnInspectorGUI()
        {
        }

        public virtual bool RequiresConstantRepaint() => false;
        public bool DrawDefaultInspector() => true;

        public static Editor CreateEditor(UnityEngine.Object targetObject, Type editorType)
        {
            var made = (Editor)Activator.CreateInstance(editorType);
            made.target = targetObject;
            return made;
        }
    }

    public class CustomEditor : Attribute
    {
        public CustomEditor(Type inspectedType)
        {
        }
    }

    [AttributeUsage(AttributeTargets.Method, AllowMultiple = true)]
    public sealed class MenuItem : Attribute
    {
        public MenuItem(string itemName)
        {
        }
    }

    public class EditorWindow : ScriptableObject
    {
        public static T GetWindow<T>(string title) where T : EditorWindow => Activator.CreateInstance<T>();

        public void Repaint()
        {
        }
    }

    public enum MessageType
    {
        None,
        Info,
        Warning,
        Error,
    }

    public sealed class EditorStyles
    {
        public static GUIStyle boldLabel => new GUIStyle();
        public static GUIStyle wordWrappedLabel => new GUIStyle();
    }

    public sealed class EditorGUI
    {
        public static void DrawRect(Rect rect, Color color)
        {
        }

        public static void ProgressBar(Rect position, float value, string text) => Gui.Shown.Add(text);
    }

    public sealed class EditorGUILayout
    {
        public static void LabelField(string label, params GUILayoutOption[] options) => Gui.Shown.Add(label);
        public static void LabelField(string label, GUIStyle style, params GUILayoutOption[] options) => Gui.Shown.Add(label);

        public static void LabelField(string label, string label2, params GUILayoutOption[] options) =>
            Gui.Shown.Add($"{label}: {label2}");

        public static void HelpBox(string message, MessageType type) => Gui.Shown.Add(message);
        public static void Space() => Gui.Shown.Add("");
        public static string TextField(string text, params GUILayoutOption[] options) => TextField("", text, options);

        public static string TextField(string label, string text, params GUILayoutOption[] options) =>
            Gui.Typed.TryGetValue(label, out var typed) ? typed : text;

        public static Rect BeginHorizontal(params GUILayoutOption[] options) => default;

        public static void EndHorizontal()
        {
        }
    }

    public sealed class AssetDatabase
    {
        public static string[] FindAssets(string filter)
        {
            var found = new List<string>();
            foreach (var asset in EditorPlayer.Assets)
                if (filter == "t:" + asset.Value.GetType().Name)
                    found.Add(asset.Key);
            return found.ToArray();
        }

        public static string GUIDToAssetPath(string guid) => guid;

        public static T LoadAssetAtPath<T>(string assetPath) where T : UnityEngine.Object =>
            EditorPlayer.Assets.TryGetValue(assetPath, out var asset) ? asset as T : null;
    }
}
