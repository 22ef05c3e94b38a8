// Checks of arguments whose type is wider here than in the library, or that the library cannot see.
namespace Sotto.Interop
{
    internal static class Arguments
    {
        /// <summary>Returns a count as the library takes it.</summary>
        /// <exception cref="SottoException">The count is negative.</exception>
        public static uint Count(string name, int value, string use) =>
            value >= 0 ? (uint)value : throw Invalid($"invalid {name} '{value}': expected 0 or more; {use}");

        /// <summary>Throws if an argument is null.</summary>
        public static T Required<T>(string name, T value, string expected) where T : class =>
            value ?? throw Invalid($"invalid {name} 'null': expected {expected}");

        /// <summary>Returns the length of each of `count` vectors that an array has in a row.</summary>
        /// <exception cref="SottoException">The array does not have as many vectors of one length.</exception>
        public static int Dim(string name, float[] vectors, int count)
        {
            Required(name, vectors, $"{count} vectors in a row");
            if (count == 0 ? vectors.Length > 0 : vectors.Length % count != 0)
                throw Invalid(
                    $"invalid {name} '{vectors.Length} values': expected {count} vectors of one length in a row");
            return count == 0 ? 0 : vectors.Length / count;
        }

        public static SottoException Invalid(string message) =>
            new SottoException(Native.SOTTO_ERROR_ARGUMENT, message);
    }
}
