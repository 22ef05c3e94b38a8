// Helpers for requests and answers in JSON.
using Sotto.Interop;
using static Sotto.Interop.Utf8;

namespace Sotto
{
    /// <summary>
    /// Quotes text for request bodies, and reads a field of an answer that is still being generated.
    /// </summary>
    public static unsafe class SottoJson
    {
        /// <summary>Returns text as a JSON string, quotes included.</summary>
        public static string Quote(string text)
        {
            var bytes = Bytes(text);
            var json = new byte[6 * bytes.Length + 3]; // the longest escape, the quotes and the NUL
            System.UIntPtr size;
            fixed (byte* from = bytes, to = json)
                SottoEngine.Check(
                    Native.sotto_json_quote(Str(from, bytes), to, (System.UIntPtr)json.Length, &size));
            return System.Text.Encoding.UTF8.GetString(json, 0, (int)size);
        }

        /// <summary>Reads a string field of a JSON object that may be incomplete.</summary>
        /// <remarks>
        /// Lets a character speak one field of a decision while the rest is generated: join the text of the
        /// events so far, and show what is new. The text only grows from call to call.
        /// </remarks>
        /// <param name="json">The object, or its beginning.</param>
        /// <param name="name">Name of a field of the outermost object.</param>
        /// <param name="complete">Whether the field's closing quote was read.</param>
        /// <returns>The field's text so far; empty if the field has not begun or is no string.</returns>
        public static string Field(string json, string name, out bool complete)
        {
            byte[] whole = Bytes(json), wanted = Bytes(name);
            sotto_str value;
            int closed;
            fixed (byte* j = whole, n = wanted)
                SottoEngine.Check(Native.sotto_json_field(Str(j, whole), Str(n, wanted), &value, &closed));
            complete = closed != 0;
            return Copy(value);
        }

        /// <summary>Returns the number of items of an array field; 0 without the field.</summary>
        internal static int Count(string json, string name)
        {
            var count = 0;
            var bytes = Bytes(json);
            fixed (byte* b = bytes)
            {
                var reader = new JsonReader(b, bytes.Length);
                reader.BeginObject();
                for (var field = reader.NextField(); field != null; field = reader.NextField())
                    if (field != name)
                        reader.Skip();
                    else
                        for (reader.BeginArray(); reader.NextItem(); reader.Skip())
                            ++count;
            }
            return count;
        }
    }
}
