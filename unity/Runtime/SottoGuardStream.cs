// A text that is checked while it streams.
using System;
using Sotto.Interop;
using static Sotto.Interop.Utf8;

namespace Sotto
{
    /// <summary>Checks a text that arrives in pieces; <see cref="SottoGuard.OpenStream"/> makes it.</summary>
    /// <remarks>
    /// One thread at a time; no method waits. A piece that is released as it came is returned itself, so that it
    /// allocates nothing. A stream that is not disposed is freed when it is collected.
    /// </remarks>
    /// <example><code>
    /// answer.TextAdded += (one, piece) => Show(stream.Feed(piece));
    /// answer.Completed += one => Show(stream.Finish());
    /// </code></example>
    public sealed unsafe class SottoGuardStream : IDisposable
    {
        readonly OwnedHandle _handle;
        char _half; // first half of a surrogate pair, at the end of the last piece; '\0': none

        internal SottoGuardStream(sotto_guard_stream* stream) =>
            _handle = new OwnedHandle(
                (IntPtr)stream, value => Native.sotto_guard_stream_close((sotto_guard_stream*)value));

        /// <summary>Whether a checker has blocked the text. Later pieces release nothing.</summary>
        public bool IsBlocked { get; private set; }

        /// <summary>
        /// Adds a piece of the text and returns what may be shown, rewritten where a checker says so; may be empty.
        /// </summary>
        /// <exception cref="SottoException">The stream is finished or disposed.</exception>
        public string Feed(string piece)
        {
            piece = Whole(piece ?? "");
            var bytes = Scratch(piece, out var size);
            sotto_str released;
            int blocked;
            fixed (byte* b = bytes)
            {
                _handle.Check(Native.sotto_guard_stream_feed(At, Str(b, size), &released, &blocked));
                IsBlocked = blocked != 0;
                return IsSame(released, b, size) ? piece : Copy(released);
            }
        }

        /// <summary>Ends the text and returns the rest that may be shown; may be empty.</summary>
        /// <exception cref="SottoException">The stream is finished or disposed.</exception>
        public string Finish()
        {
            var rest = "";
            if (_half != '\0')
            {
                _half = '\0';
                rest = Feed("\uFFFD");
            }
            sotto_str released;
            int blocked;
            _handle.Check(Native.sotto_guard_stream_finish(At, &released, &blocked));
            IsBlocked = blocked != 0;
            return rest + Copy(released);
        }

        /// <summary>Returns the verdict on the text so far.</summary>
        public SottoVerdict Verdict()
        {
            sotto_str verdict;
            _handle.Check(Native.sotto_guard_stream_verdict(At, &verdict));
            return new SottoVerdict(new JsonReader(verdict));
        }

        /// <summary>Closes the stream and drops what it holds back. A second call does nothing.</summary>
        public void Dispose() => _handle.Dispose();

        sotto_guard_stream* At => (sotto_guard_stream*)_handle.Value;

        // Returns the piece behind the half pair of the last one, without a half pair at its own end.
        string Whole(string piece)
        {
            if (piece.Length == 0)
                return piece;
            if (_half != '\0')
            {
                piece = _half + piece;
                _half = '\0';
            }
            if (!char.IsHighSurrogate(piece[piece.Length - 1]))
                return piece;
            _half = piece[piece.Length - 1];
            return piece.Substring(0, piece.Length - 1);
        }

        static bool IsSame(sotto_str text, byte* bytes, int size)
        {
            if (text.size != (UIntPtr)size)
                return false;
            for (var i = 0; i < size; ++i)
                if (text.data[i] != bytes[i])
                    return false;
            return true;
        }
    }
}
