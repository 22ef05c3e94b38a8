// As much of Unity as the runtime names, so that its UNITY_ branches compile here too.
namespace UnityEngine
{
    public static class Debug
    {
        public static void Log(object message) => System.Console.Out.WriteLine(message);
        public static void LogError(object message) => System.Console.Error.WriteLine(message);
        public static void LogWarning(object message) => System.Console.Error.WriteLine(message);
    }

    public class MonoBehaviour
    {
    }
}

#if UNITY_EDITOR
namespace UnityEditor
{
    public static class AssemblyReloadEvents
    {
        public static event System.Action beforeAssemblyReload { add { } remove { } }
    }

    public static class EditorApplication
    {
        public static event System.Action quitting { add { } remove { } }
    }
}
#endif
