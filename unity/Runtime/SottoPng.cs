// Decodes PNG files of 8 bits per channel, so that Unity's main thread need not: its LoadImage() takes milliseconds there.
using System;
using System.IO;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>A decoder of PNG (ISO/IEC 15948) without interlacing, palettes and 16-bit channels.</summary>
    internal static class SottoPng
    {
        const int MaxPixels = 1 << 26; // so that sizes in bytes fit an int
        const int HeaderEnd = 33; // signature, and the chunk IHDR
        const int Overhead = 12; // of a chunk: length, type, checksum
        const uint Ihdr = 0x49484452, Idat = 0x49444154, Iend = 0x49454E44;

        /// <summary>Returns RGBA, the lowest row first.</summary>
        /// <param name="png">The file.</param>
        /// <param name="width">Width that it must have.</param>
        /// <param name="height">Height that it must have.</param>
        public static byte[] Decode(byte[] png, int width, int height)
        {
            var channels = Channels(png, width, height);
            int size = channels * width, stride = size + 1; // a row begins with its filter
            var rows = new byte[stride * height];
            SottoInflate.Decode(Packed(png), 2, rows); // without zlib's header
            var pixels = new byte[4 * width * height];
            for (var y = 0; y < height; ++y)
            {
                Unfilter(rows, y * stride, size, channels);
                Widen(rows, y * stride + 1, size, pixels, 4 * width * (height - 1 - y), channels);
            }
            return pixels;
        }

        static int Channels(byte[] png, int width, int height)
        {
            if (png.Length < HeaderEnd || Number(png, 0) != 0x89504E47 || Number(png, 12) != Ihdr)
                throw Bad("a PNG file");
            if (Number(png, 16) != (uint)width || Number(png, 20) != (uint)height)
                throw Bad($"a size of {width}x{height}, not {Number(png, 16)}x{Number(png, 20)}");
            if (width < 1 || height < 1 || width > MaxPixels / height)
                throw Bad($"at most {MaxPixels} pixels, not {width}x{height}");
            var channels = png[25] == 0 ? 1 : png[25] == 4 ? 2 : png[25] == 2 ? 3 : png[25] == 6 ? 4 : 0;
            if (png[24] != 8 || channels == 0 || png[28] != 0)
                throw Bad("8 bits per channel, no palette, no interlacing; use ImageConversion.LoadImage()");
            return channels;
        }

        // The compressed pixels of all chunks.
        static byte[] Packed(byte[] png)
        {
            var packed = new MemoryStream(png.Length);
            for (var at = 8L; at + Overhead <= png.Length;)
            {
                long size = Number(png, (int)at);
                var type = Number(png, (int)at + 4);
                if (type == Iend || at + Overhead + size > png.Length)
                    break;
                if (type == Idat)
                    packed.Write(png, (int)at + 8, (int)size);
                at += Overhead + size;
            }
            return packed.ToArray();
        }

        // Adds to each byte of a row what its filter predicts from the bytes left of it and above it.
        static void Unfilter(byte[] rows, int start, int size, int channels)
        {
            int filter = rows[start], first = start + 1;
            if (filter > 4)
                throw Bad($"a filter from 0 to 4, not {filter}");
            if (filter == 0)
                return;
            for (var i = 0; i < size; ++i)
            {
                var at = first + i;
                bool hasLeft = i >= channels, hasUp = start > 0;
                int left = hasLeft ? rows[at - channels] : 0, up = hasUp ? rows[at - size - 1] : 0;
                var corner = hasLeft && hasUp ? rows[at - size - 1 - channels] : 0;
                rows[at] += (byte)(filter == 1 ? left : filter == 2 ? up : filter == 3 ? (left + up) / 2
                    : Paeth(left, up, corner));
            }
        }

        static int Paeth(int left, int up, int corner)
        {
            int a = Math.Abs(up - corner), b = Math.Abs(left - corner), c = Math.Abs(left + up - 2 * corner);
            return a <= b && a <= c ? left : b <= c ? up : corner;
        }

        static void Widen(byte[] rows, int from, int size, byte[] pixels, int to, int channels)
        {
            var isGrey = channels < 3;
            for (var end = from + size; from < end; from += channels, to += 4)
            {
                pixels[to] = rows[from];
                pixels[to + 1] = rows[isGrey ? from : from + 1];
                pixels[to + 2] = rows[isGrey ? from : from + 2];
                pixels[to + 3] = channels == 2 || channels == 4 ? rows[from + channels - 1] : (byte)255;
            }
        }

        static uint Number(byte[] bytes, int at) =>
            (uint)(bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3]);

        static SottoException Bad(string expected) => Arguments.Invalid($"invalid image: expected {expected}");
    }
}
