// Stand-in for UnityEngine's log: keeps what was logged, and prints warnings and errors.
using System;
using System.Collections.Generic;

namespace UnityEngine
{
    public enum LogType
    {
        Error,
        Assert,
        Warning,
        Log,
        Exception,
    }

    public class Debug
    {
        internal static readonly List<string> Lines = new List<string>();

        public static void Log(object message) => Keep("log", message, null);
        public static void Log(object message, Object context) => Keep("log", message, null);
        public static void LogWarning(object message) => Keep("warning", message, Console.Error);
        public static void LogWarning(object message, Object context) => Keep("warning", message, Console.Error);
        public static void LogError(object message) => Keep("error", message, Console.Error);
        public static void LogError(object message, Object context) => Keep("error", message, Console.Error);
        public static void LogException(Exception exception) => Keep("exception", exception.Message, Console.Error);

        public static void LogException(Exception exception, Object context) =>
            Keep("exception", exception.Message, Console.Error);

        static void Keep(string kind, object message, System.IO.TextWriter writer)
        {
            lock (Lines)
                Lines.Add($"{kind}: {message}");
            writer?.WriteLine($"{kind}: {message}");
        }
    }
}
