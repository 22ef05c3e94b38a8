// What differs between Unity's platforms, and outside Unity.
namespace Sotto.Interop
{
    internal static class Library
    {
#if UNITY_IOS && !UNITY_EDITOR
        public const string Name = "__Internal"; // linked into the player
#else
        public const string Name = "sotto";
#endif

        public static void Complain(string what) =>
#if UNITY_5_3_OR_NEWER
            UnityEngine.Debug.LogWarning(what);
#else
            System.Console.Error.WriteLine(what);
#endif
    }
}
