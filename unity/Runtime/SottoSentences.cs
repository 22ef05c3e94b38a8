// Finds whole sentences in text that grows.
using System.Text;

namespace Sotto
{
    /// <summary>Splits streamed text into sentences, for speech synthesis or lip movement.</summary>
    public sealed class SottoSentences
    {
        const string Enders = ".!?\u2026\u3002\uFF01\uFF1F\u061F\u06D4\u0964"; // Latin, CJK, Arabic, Urdu, Hindi
        const string Wide = "\u3002\uFF01\uFF1F"; // sentences go on without a space after these
        const string Closers = "\"')]}\u00BB\u201D\u2019\u300D\u300F";
        readonly StringBuilder _pending = new StringBuilder();
        int _read; // characters of the pending text that hold no end of a sentence

        /// <summary>Adds text. Call <see cref="TryNext"/> until it returns false.</summary>
        public void Add(string text) => _pending.Append(text);

        /// <summary>Takes the next sentence that is complete.</summary>
        public bool TryNext(out string sentence)
        {
            for (; _read < _pending.Length; ++_read)
            {
                if (Enders.IndexOf(_pending[_read]) < 0)
                    continue;
                var end = _read + 1;
                while (end < _pending.Length && IsTail(_pending[end]))
                    ++end;
                var wide = Wide.IndexOf(_pending[_read]) >= 0;
                if (end == _pending.Length && !wide)
                    break; // more may follow: a quotation mark, or the digits of a price
                if (wide || char.IsWhiteSpace(_pending[end]))
                {
                    sentence = Take(end);
                    return true;
                }
            }
            sentence = "";
            return false;
        }

        /// <summary>Takes what is left at the end of the text. False: nothing is left.</summary>
        public bool TryFlush(out string rest)
        {
            rest = Take(_pending.Length);
            return rest.Length > 0;
        }

        string Take(int end)
        {
            var text = _pending.ToString(0, end).Trim();
            _pending.Remove(0, end);
            _read = 0;
            return text;
        }

        static bool IsTail(char c) => Enders.IndexOf(c) >= 0 || Closers.IndexOf(c) >= 0;
    }
}
