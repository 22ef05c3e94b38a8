// Writes JSON as UTF-8 into one growing buffer.
using System;
using System.Globalization;
using System.Text;

namespace Sotto
{
    /// <summary>Writes JSON as UTF-8 into one buffer, which it reuses after <see cref="Clear"/>.</summary>
    /// <remarks>One thread at a time. Text and integers are written without managed allocations.</remarks>
    public sealed class SottoJsonWriter
    {
        const string Hex = "0123456789abcdef";
        byte[] _bytes;
        bool _comma; // whether the next item needs a comma before it

        /// <summary>Creates an empty writer.</summary>
        /// <param name="capacity">First size of the buffer in bytes.</param>
        public SottoJsonWriter(int capacity = 256) => _bytes = new byte[Math.Max(16, capacity)];

        /// <summary>Number of bytes written.</summary>
        public int Size { get; private set; }

        internal byte[] Buffer => _bytes;

        /// <summary>Removes the content and keeps the buffer.</summary>
        public SottoJsonWriter Clear()
        {
            Size = 0;
            _comma = false;
            return this;
        }

        /// <summary>Opens an object.</summary>
        public SottoJsonWriter BeginObject() => Open('{');

        /// <summary>Closes the innermost object.</summary>
        public SottoJsonWriter EndObject() => Close('}');

        /// <summary>Opens an array.</summary>
        public SottoJsonWriter BeginArray() => Open('[');

        /// <summary>Closes the innermost array.</summary>
        public SottoJsonWriter EndArray() => Close(']');

        /// <summary>Writes a field's name; its value follows.</summary>
        public SottoJsonWriter Name(string name)
        {
            Value(name);
            Put((byte)':');
            _comma = false;
            return this;
        }

        /// <summary>
        /// Writes text as a JSON string. Null becomes null; a lone surrogate becomes U+FFFD.
        /// </summary>
        public SottoJsonWriter Value(string text)
        {
            if (text == null)
                return Raw("null");
            Separate();
            Put((byte)'"');
            for (var i = 0; i < text.Length; ++i)
                i += Character(text, i);
            Put((byte)'"');
            return this;
        }

        /// <summary>Writes an integer.</summary>
        public SottoJsonWriter Value(long number)
        {
            Separate();
            if (number < 0)
                Put((byte)'-');
            Digits(number < 0 ? (ulong)-(number + 1) + 1 : (ulong)number);
            return this;
        }

        /// <summary>Writes a number.</summary>
        /// <exception cref="SottoException">The number is not finite.</exception>
        public SottoJsonWriter Value(double number)
        {
            if (double.IsNaN(number) || double.IsInfinity(number))
                throw new SottoException(
                    Interop.Native.SOTTO_ERROR_ARGUMENT,
                    $"invalid number '{number.ToString(CultureInfo.InvariantCulture)}': expected a finite number");
            return Raw(number.ToString("R", CultureInfo.InvariantCulture));
        }

        /// <summary>Writes true or false.</summary>
        public SottoJsonWriter Value(bool flag) => Raw(flag ? "true" : "false");

        /// <summary>Writes JSON as it is. The library reports what is wrong with it.</summary>
        /// <exception cref="SottoException">The text is null; nothing is written.</exception>
        public SottoJsonWriter Raw(string json)
        {
            if (json == null)
                throw new SottoException(
                    Interop.Native.SOTTO_ERROR_ARGUMENT, "invalid json 'null': expected JSON as text");
            Separate();
            for (var i = 0; i < json.Length; ++i)
                i += Plain(json, i);
            return this;
        }

        /// <summary>Writes the content of another writer as one item; nothing if that is empty.</summary>
        internal SottoJsonWriter Raw(SottoJsonWriter json)
        {
            if (json.Size == 0)
                return this;
            Separate();
            Reserve(json.Size);
            System.Buffer.BlockCopy(json._bytes, 0, _bytes, Size, json.Size);
            Size += json.Size;
            return this;
        }

        /// <summary>Returns the content as text.</summary>
        public override string ToString() => Encoding.UTF8.GetString(_bytes, 0, Size);

        SottoJsonWriter Open(char bracket)
        {
            Separate();
            Put((byte)bracket);
            _comma = false;
            return this;
        }

        SottoJsonWriter Close(char bracket)
        {
            Put((byte)bracket);
            _comma = true;
            return this;
        }

        void Separate()
        {
            if (_comma)
                Put((byte)',');
            _comma = true;
        }

        // Writes the character at `i`, escaped. Returns the number of further UTF-16 units that belong to it.
        int Character(string text, int i)
        {
            var c = text[i];
            if (c == '"' || c == '\\')
                Put((byte)'\\');
            else if (c < ' ')
            {
                Put((byte)'\\');
                Put((byte)'u');
                Put((byte)'0');
                Put((byte)'0');
                Put((byte)Hex[c >> 4]);
                Put((byte)Hex[c & 15]);
                return 0;
            }
            return Plain(text, i);
        }

        int Plain(string text, int i)
        {
            int c = text[i];
            if (c < 0x80)
            {
                Put((byte)c);
                return 0;
            }
            var paired = char.IsHighSurrogate(text[i]) && i + 1 < text.Length && char.IsLowSurrogate(text[i + 1]);
            if (paired)
                c = char.ConvertToUtf32(text[i], text[i + 1]);
            else if (char.IsSurrogate(text[i]))
                c = 0xFFFD;
            if (c >= 0x10000)
            {
                Put((byte)(0xF0 | c >> 18));
                Put((byte)(0x80 | c >> 12 & 0x3F));
            }
            else if (c >= 0x800)
                Put((byte)(0xE0 | c >> 12));
            Put((byte)(c >= 0x800 ? 0x80 | c >> 6 & 0x3F : 0xC0 | c >> 6));
            Put((byte)(0x80 | c & 0x3F));
            return paired ? 1 : 0;
        }

        void Digits(ulong number)
        {
            if (number >= 10)
                Digits(number / 10);
            Put((byte)('0' + number % 10));
        }

        void Put(byte one)
        {
            Reserve(1);
            _bytes[Size++] = one;
        }

        void Reserve(int more)
        {
            if (Size + more > _bytes.Length)
                Array.Resize(ref _bytes, Math.Max(2 * _bytes.Length, Size + more));
        }
    }
}
