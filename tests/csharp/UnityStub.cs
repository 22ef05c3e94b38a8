// As much of Unity as the runtime names, so that its UNITY_ branches compile here too.
namespace UnityEngine
{
    public static class Debug
    {
        public static void LogWarning(object message) => System.Console.Error.WriteLine(message);
    }
}
