// The native library: its name, and clear errors when it is missing, damaged or of another version.
using System;

namespace Sotto.Interop
{
    internal static class Library
    {
        public const string Name = "sotto";

        static bool _checked;

        /// <summary>Loads the library on the first call and checks its version.</summary>
        /// <exception cref="SottoException">
        /// The library is missing, unusable or of another version.
        /// </exception>
        public static void Require()
        {
            if (_checked)
                return;
            var problem = Mismatch(LoadedVersion());
            if (problem.Length > 0)
                throw new SottoException(Native.SOTTO_ERROR_UNSUPPORTED, problem);
            _checked = true;
        }

        /// <summary>Returns the version of the loaded library.</summary>
        public static string LoadedVersion()
        {
            try
            {
                return Utf8.Copy(Native.sotto_version());
            }
            catch (Exception error) when (Explain(error) != null)
            {
                throw Explain(error);
            }
        }

        /// <summary>
        /// Returns an exception with the way out for a failure to load the library, else null.
        /// </summary>
        internal static SottoException Explain(Exception error)
        {
            if (error is EntryPointNotFoundException)
                return new SottoException(
                    Native.SOTTO_ERROR_UNSUPPORTED,
                    $"library '{Name}' lacks a function ({error.Message}): expected the Sotto library "
                    + $"{Native.SOTTO_VERSION}; replace the file in the package's folder Plugins");
            if (error is BadImageFormatException)
                return new SottoException(
                    Native.SOTTO_ERROR_UNSUPPORTED,
                    $"library '{Name}' is for another processor or system ({error.Message}): expected a 64-bit "
                    + "library for this platform; check the platform settings of the files in Plugins");
            if (error is DllNotFoundException)
                return new SottoException(
                    Native.SOTTO_ERROR_NOT_FOUND,
                    $"library '{Name}' could not be loaded ({error.Message}): expected it in the package's folder "
                    + "Plugins/<platform>, or outside Unity beside the program, for this platform and processor");
            return null;
        }

        /// <summary>Returns why a library of version <paramref name="found"/> is unusable, else "".</summary>
        internal static string Mismatch(string found) =>
            Series(found) == Series(Native.SOTTO_VERSION) && Series(found).Length > 0
                ? ""
                : $"library '{Name}' has version '{found}': expected {Series(Native.SOTTO_VERSION)}.x, as the "
                    + "package; restart the editor after an update, because it keeps the old library loaded";

        // "0.1" of "0.1.7"; "" if there is no minor version.
        static string Series(string version)
        {
            var dot = version.IndexOf('.');
            var end = dot < 0 ? -1 : version.IndexOf('.', dot + 1);
            return end < 0 ? "" : version.Substring(0, end);
        }

        public static void Complain(string what) =>
#if UNITY_5_3_OR_NEWER
            UnityEngine.Debug.LogWarning(what);
#else
            Console.Error.WriteLine(what);
#endif

        /// <summary>Logs an exception that a handler of the game threw; no event is lost by it.</summary>
        public static void Complain(Exception thrown) =>
#if UNITY_5_3_OR_NEWER
            UnityEngine.Debug.LogException(thrown);
#else
            Console.Error.WriteLine(thrown);
#endif
    }
}
