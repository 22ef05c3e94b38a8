// Inflates deflate streams (RFC 1951). .NET's DeflateStream calls back from native code, which Mono refuses when all
// code is compiled ahead of time.
using System;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>A decoder of one deflate stream whose decompressed size is known.</summary>
    internal sealed class SottoInflate
    {
        const int MaxBits = 15; // of a Huffman code
        const int TableSize = 1 << MaxBits;
        const int End = 256; // symbol: end of the block
        static readonly ushort[] LengthBase =
            { 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258 };
        static readonly byte[] LengthExtra =
            { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0 };
        static readonly ushort[] DistanceBase =
        {
            1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
            8193, 12289, 16385, 24577,
        };
        static readonly byte[] LengthOrder = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };

        readonly byte[] _from, _to;
        int _at, _done; // next byte of each
        uint _bits;
        int _count; // of bits in _bits

        SottoInflate(byte[] from, int at, byte[] to)
        {
            _from = from;
            _at = at;
            _to = to;
        }

        /// <summary>Fills an array with what a stream begins with.</summary>
        /// <exception cref="SottoException">The stream is damaged, or shorter.</exception>
        public static void Decode(byte[] from, int at, byte[] to) => new SottoInflate(from, at, to).Run();

        void Run()
        {
            for (var isLast = false; !isLast && _done < _to.Length;)
            {
                isLast = Bits(1) == 1;
                switch (Bits(2))
                {
                    case 0: Stored(); break;
                    case 1: Fixed(); break;
                    case 2: Dynamic(); break;
                    default: throw Bad();
                }
            }
            if (_done < _to.Length)
                throw Bad();
        }

        void Stored()
        {
            Bits(_count & 7); // to the next byte
            var size = Bits(16);
            if (size != (Bits(16) ^ 0xFFFF) || size > _to.Length - _done)
                throw Bad();
            for (; size > 0; --size)
                _to[_done++] = (byte)Bits(8);
        }

        void Fixed()
        {
            var lengths = new byte[288];
            for (var i = 0; i < lengths.Length; ++i)
                lengths[i] = (byte)(i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
            var distances = new byte[30];
            for (var i = 0; i < distances.Length; ++i)
                distances[i] = 5;
            Coded(Table(lengths, 0, lengths.Length), Table(distances, 0, distances.Length));
        }

        void Dynamic()
        {
            int literals = Bits(5) + 257, distances = Bits(5) + 1, count = Bits(4) + 4;
            var lengths = new byte[19];
            for (var i = 0; i < count; ++i)
                lengths[LengthOrder[i]] = (byte)Bits(3);
            var codes = Table(lengths, 0, lengths.Length);
            lengths = new byte[literals + distances];
            for (var i = 0; i < lengths.Length;)
            {
                var symbol = Symbol(codes);
                if (symbol < 16)
                {
                    lengths[i++] = (byte)symbol;
                    continue;
                }
                var repeated = symbol == 16 && i > 0 ? lengths[i - 1] : (byte)0;
                var times = symbol == 16 ? 3 + Bits(2) : symbol == 17 ? 3 + Bits(3) : 11 + Bits(7);
                if (symbol == 16 && i == 0 || times > lengths.Length - i)
                    throw Bad();
                for (; times > 0; --times)
                    lengths[i++] = repeated;
            }
            Coded(Table(lengths, 0, literals), Table(lengths, literals, distances));
        }

        void Coded(ushort[] literals, ushort[] distances)
        {
            for (var symbol = Symbol(literals); symbol != End && _done < _to.Length; symbol = Symbol(literals))
                if (symbol < End)
                    _to[_done++] = (byte)symbol;
                else
                    Repeat(symbol - End - 1, distances);
        }

        void Repeat(int code, ushort[] distances)
        {
            if (code >= LengthBase.Length)
                throw Bad();
            var length = LengthBase[code] + Bits(LengthExtra[code]);
            code = Symbol(distances);
            if (code >= DistanceBase.Length)
                throw Bad();
            var distance = DistanceBase[code] + Bits(code < 2 ? 0 : code / 2 - 1);
            if (distance > _done || length > _to.Length - _done)
                throw Bad();
            for (; length > 0; --length, ++_done)
                _to[_done] = _to[_done - distance];
        }

        // Returns the symbol, times 16, and the length of the code that each 15 bits begin with. 0: no code.
        static ushort[] Table(byte[] lengths, int first, int count)
        {
            var next = new int[MaxBits + 2];
            for (var i = 0; i < count; ++i)
                if (lengths[first + i] > 0)
                    ++next[lengths[first + i] + 1];
            for (var length = 1; length <= MaxBits + 1; ++length)
                next[length] = (next[length - 1] + next[length]) << 1;
            var table = new ushort[TableSize];
            for (var i = 0; i < count; ++i)
            {
                int length = lengths[first + i];
                if (length == 0)
                    continue;
                var code = next[length]++;
                if (code >> length != 0)
                    throw Bad();
                for (var at = Reversed(code, length); at < TableSize; at += 1 << length)
                    table[at] = (ushort)(i << 4 | length);
            }
            return table;
        }

        static int Reversed(int code, int length)
        {
            var reversed = 0;
            for (; length > 0; --length, code >>= 1)
                reversed = reversed << 1 | code & 1;
            return reversed;
        }

        int Symbol(ushort[] table)
        {
            for (; _count < MaxBits && _at < _from.Length; _count += 8)
                _bits |= (uint)_from[_at++] << _count;
            int entry = table[_bits & TableSize - 1], length = entry & 15;
            if (length == 0 || length > _count)
                throw Bad();
            _bits >>= length;
            _count -= length;
            return entry >> 4;
        }

        int Bits(int count)
        {
            for (; _count < count; _count += 8)
                _bits |= (uint)(_at < _from.Length ? _from[_at++] : throw Bad()) << _count;
            var value = (int)(_bits & (1u << count) - 1);
            _bits >>= count;
            _count -= count;
            return value;
        }

        static SottoException Bad() => Arguments.Invalid("invalid image: expected whole compressed pixels; the file is damaged");
    }
}
