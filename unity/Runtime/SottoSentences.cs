// Finds whole sentences in text that grows.
using System;
using System.Text;

namespace Sotto
{
    /// <summary>Splits streamed text into sentences, for speech synthesis or lip movement.</summary>
    /// <remarks>
    /// A sentence ends after `.`, `!`, `?` or their counterparts in other scripts, together with the closing
    /// quotes that follow, where white space comes next; also at a line break. Abbreviations and initials
    /// ("Mr.", "J.") do not end a sentence. The fullwidth marks of Chinese and Japanese need no white space
    /// after them. The Unreal plugin has the same rules, in Private/Core/Sentences.cpp.
    /// </remarks>
    public sealed class SottoSentences
    {
        const string Enders = ".!?\u2026\u3002\uFF01\uFF1F\u061F\u06D4\u0964"; // Latin, CJK, Arabic, Urdu, Hindi
        const string Wide = "\u3002\uFF01\uFF1F"; // sentences go on without a space after these
        const string Closers = "\"')]}*\u00BB\u201D\u2019\u300D\u300F\u200E\u200F"; // and the marks of direction
        const string Spaces = " \t\r\n\u00A0\u3000";
        const string Openers = " \t\n(\"'"; // before the first letter of a word
        const int LongestAbbreviation = 4;

        static readonly string[] Abbreviations =
        {
            "mr", "mrs", "ms", "dr", "st", "prof", "sr", "jr", "capt", "sgt", "lt", "e.g", "i.e", "vs",
        };

        readonly StringBuilder _pending = new StringBuilder();
        int _read; // characters of the pending text that hold no end of a sentence

        /// <summary>Adds text. Call <see cref="TryNext"/> until it returns false.</summary>
        public void Add(string text) => _pending.Append(text);

        /// <summary>Takes the next sentence that is complete.</summary>
        public bool TryNext(out string sentence)
        {
            for (var end = FindEnd(); end > 0; end = FindEnd())
            {
                sentence = Take(end);
                if (sentence.Length > 0) // else an empty line
                    return true;
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

        // Returns the end of the first sentence, or 0 if more text could still belong to it.
        int FindEnd()
        {
            while (_read < _pending.Length)
            {
                var mark = _pending[_read];
                if (mark == '\n')
                    return _read + 1;
                if (Enders.IndexOf(mark) < 0 || mark == '.' && IsAbbreviation(_read))
                {
                    ++_read;
                    continue;
                }
                var end = _read + 1;
                for (; end < _pending.Length && IsTail(_pending[end]); ++end)
                    mark = Enders.IndexOf(_pending[end]) >= 0 ? _pending[end] : mark;
                if (end == _pending.Length)
                    return 0; // a closing quote may follow, or the digits of a price
                if (Wide.IndexOf(mark) >= 0 || Spaces.IndexOf(_pending[end]) >= 0)
                    return end;
                _read = end;
            }
            return 0;
        }

        bool IsAbbreviation(int dot)
        {
            var begin = dot;
            while (begin > 0 && Openers.IndexOf(_pending[begin - 1]) < 0)
                if (dot - --begin > LongestAbbreviation)
                    return false;
            var word = _pending.ToString(begin, dot - begin);
            if (word.Length == 1 && word[0] >= 'A' && word[0] <= 'Z')
                return word[0] != 'I'; // "So do I." ends a sentence
            return Array.Exists(Abbreviations, one => string.Equals(one, word, StringComparison.OrdinalIgnoreCase));
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
