// Reads JSON that the library returned, value by value, without a tree.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Sotto.Interop
{
    /// <summary>Reads one JSON text from front to back.</summary>
    /// <remarks>
    /// Memory that the library lends stays valid until the thread's next call that returns JSON: read it to the end
    /// before such a call. Text that is not JSON throws a <see cref="SottoException"/> and is never read past its end.
    /// </remarks>
    internal unsafe struct JsonReader
    {
        const int MaxDepth = 64;
        readonly byte* _begin, _end;
        byte* _at;

        public JsonReader(byte* data, int size)
        {
            _begin = _at = data;
            _end = data + size;
        }

        public JsonReader(sotto_str json) : this(json.data, checked((int)json.size))
        {
        }

        /// <summary>Enters an object. Read its fields with <see cref="NextField"/> until that returns null.</summary>
        public void BeginObject() => Take('{');

        /// <summary>Enters an array. Read its items while <see cref="NextItem"/> returns true.</summary>
        public void BeginArray() => Take('[');

        /// <summary>Returns the name of the next field, whose value must be read or skipped; null at the end.</summary>
        public string NextField()
        {
            if (!Next('{', '}'))
                return null;
            var name = Text();
            Take(':');
            return name;
        }

        /// <summary>Returns whether the array has another item, which must be read or skipped.</summary>
        public bool NextItem() => Next('[', ']');

        /// <summary>Reads a string; null becomes null.</summary>
        public string Text()
        {
            if (TakeWord("null"))
                return null;
            Take('"');
            var start = _at;
            while (_at < _end && *_at != '"' && *_at != '\\')
                ++_at;
            if (_at < _end && *_at == '"')
                return Decode(start, _at++);
            var text = new StringBuilder(Decode(start, _at));
            while (!TakeQuote())
                if (*_at == '\\')
                    Escape(text);
                else
                {
                    start = _at;
                    while (_at < _end && *_at != '"' && *_at != '\\')
                        ++_at;
                    text.Append(Decode(start, _at));
                }
            return text.ToString();
        }

        /// <summary>Reads a number.</summary>
        public double Number()
        {
            var word = Word();
            if (double.TryParse(word, NumberStyles.Float, CultureInfo.InvariantCulture, out var number))
                return number;
            throw Bad("a number");
        }

        /// <summary>Reads a number; null becomes null.</summary>
        public double? NumberOrNull() => TakeWord("null") ? (double?)null : Number();

        /// <summary>Reads an integer.</summary>
        public long Integer()
        {
            var word = Word();
            if (long.TryParse(word, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out var number))
                return number;
            throw Bad("an integer");
        }

        /// <summary>Reads true or false.</summary>
        public bool Flag()
        {
            if (TakeWord("true"))
                return true;
            return TakeWord("false") ? false : throw Bad("true or false");
        }

        /// <summary>Reads an array of numbers; null becomes null.</summary>
        public float[] Floats()
        {
            if (TakeWord("null"))
                return null;
            var found = new List<float>();
            for (BeginArray(); NextItem();)
                found.Add((float)Number());
            return found.ToArray();
        }

        /// <summary>Reads an array of strings.</summary>
        public string[] Texts()
        {
            var found = new List<string>();
            for (BeginArray(); NextItem();)
                found.Add(Text());
            return found.ToArray();
        }

        /// <summary>Returns the next value as JSON.</summary>
        public string Raw()
        {
            Peek();
            var start = _at;
            Skip();
            return Decode(start, _at);
        }

        /// <summary>Returns the first byte of the next value; 0 at the end of the text.</summary>
        public byte Peek()
        {
            while (_at < _end && (*_at == ' ' || *_at == '\n' || *_at == '\r' || *_at == '\t'))
                ++_at;
            return _at < _end ? *_at : (byte)0;
        }

        /// <summary>Reads a value and drops it.</summary>
        public void Skip() => Skip(0);

        void Skip(int depth)
        {
            if (depth > MaxDepth)
                throw Bad($"at most {MaxDepth} levels");
            switch (Peek())
            {
                case (byte)'{':
                    for (BeginObject(); NextField() != null;)
                        Skip(depth + 1);
                    break;
                case (byte)'[':
                    for (BeginArray(); NextItem();)
                        Skip(depth + 1);
                    break;
                case (byte)'"':
                    Text();
                    break;
                default:
                    if (Word().Length == 0)
                        throw Bad("a value");
                    break;
            }
        }

        // Goes to the next item of an object or array: past a comma, or at its start past nothing.
        bool Next(char open, char close)
        {
            var before = _at;
            var next = Peek();
            if (next == close)
            {
                ++_at;
                return false;
            }
            if (next != ',')
                return before[-1] == open ? true : throw Bad($"',' or '{close}'");
            ++_at;
            return true;
        }

        // Takes the closing quote of a string if it is next.
        bool TakeQuote()
        {
            if (_at == _end)
                throw Bad("'\"'");
            if (*_at != '"')
                return false;
            ++_at;
            return true;
        }

        void Escape(StringBuilder text)
        {
            if (_end - _at < 2)
                throw Bad("an escape sequence");
            var c = (char)_at[1];
            _at += 2;
            const string from = "\"\\/bfnrt", to = "\"\\/\b\f\n\r\t";
            var known = from.IndexOf(c);
            if (known >= 0)
            {
                text.Append(to[known]);
                return;
            }
            if (c != 'u' || _end - _at < 4 || !ushort.TryParse(
                Decode(_at, _at + 4), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out var unit))
                throw Bad("an escape sequence");
            _at += 4;
            text.Append((char)unit);
        }

        // Takes a number, true, false or null.
        string Word()
        {
            Peek();
            var start = _at;
            while (_at < _end && (*_at >= '0' && *_at <= '9' || *_at >= 'a' && *_at <= 'z' || *_at == 'E'
                || *_at == '-' || *_at == '+' || *_at == '.'))
                ++_at;
            return Decode(start, _at);
        }

        bool TakeWord(string word)
        {
            if (Peek() != word[0] || _end - _at < word.Length)
                return false;
            for (var i = 0; i < word.Length; ++i)
                if (_at[i] != word[i])
                    return false;
            _at += word.Length;
            return true;
        }

        void Take(char wanted)
        {
            if (Peek() != wanted)
                throw Bad($"'{wanted}'");
            ++_at;
        }

        static string Decode(byte* from, byte* to) =>
            to == from ? "" : Encoding.UTF8.GetString(from, (int)(to - from));

        SottoException Bad(string expected) =>
            new SottoException(
                Native.SOTTO_ERROR_STATE, $"invalid JSON at byte {_at - _begin}: expected {expected}");
    }
}
