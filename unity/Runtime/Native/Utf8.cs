// Strings on their way across: UTF-8 bytes that the caller pins going in, copies coming out.
using System;
using System.Runtime.InteropServices;
using System.Text;

namespace Sotto.Interop
{
    internal static unsafe class Utf8
    {
        static readonly byte[] Nothing = new byte[0];

        public static byte[] Bytes(string text) =>
            string.IsNullOrEmpty(text) ? Nothing : Encoding.UTF8.GetBytes(text);

        [ThreadStatic]
        static byte[] _scratch;

        /// <summary>Encodes text into a buffer of the calling thread, valid until its next call of Scratch.</summary>
        public static byte[] Scratch(string text, out int size)
        {
            text = text ?? "";
            var most = Encoding.UTF8.GetMaxByteCount(text.Length);
            if (_scratch == null || _scratch.Length < most)
                _scratch = new byte[Math.Max(most, 1024)];
            size = Encoding.UTF8.GetBytes(text, 0, text.Length, _scratch, 0);
            return _scratch;
        }

        public static sotto_str Str(byte* data, int size) =>
            new sotto_str { data = data, size = (UIntPtr)size };

        public static sotto_str Str(byte* data, byte[] bytes) =>
            new sotto_str { data = data, size = (UIntPtr)bytes.Length };

        public static string Copy(sotto_str text) =>
            text.size == UIntPtr.Zero ? "" : Encoding.UTF8.GetString(text.data, (int)text.size);

        // Bytes that are no text.
        public static byte[] Bytes(sotto_str data)
        {
            if (data.size == UIntPtr.Zero)
                return Nothing;
            var bytes = new byte[(int)data.size];
            Marshal.Copy((IntPtr)data.data, bytes, 0, bytes.Length);
            return bytes;
        }
    }
}
