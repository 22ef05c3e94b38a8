// Reads the metadata at the start of a GGUF file.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Text;

namespace Sotto.Editor
{
    /// <summary>The metadata of a GGUF file; arrays are skipped.</summary>
    public sealed class GgufHeader
    {
        const uint Magic = 0x46554747; // "GGUF"
        const ulong MaxEntries = 1 << 20;
        const ulong MaxText = 64 << 20;
        const uint TypeString = 8, TypeArray = 9;
        static readonly int[] Sizes = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
        readonly Dictionary<string, string> _values = new Dictionary<string, string>();

        /// <summary>Version of the format.</summary>
        public uint Version { get; private set; }

        /// <summary>Number of tensors.</summary>
        public ulong Tensors { get; private set; }

        /// <summary>`general.architecture`, or "".</summary>
        public string Architecture => Text("general.architecture");

        /// <summary>`general.name`, or "".</summary>
        public string Title => Text("general.name");

        /// <summary>Context that the model was trained with. 0: not in the file.</summary>
        public long TrainedContext =>
            long.TryParse(Text(Architecture + ".context_length"), NumberStyles.None, CultureInfo.InvariantCulture, out var tokens)
                ? tokens : 0;

        /// <summary>Returns a value as text, or "" if the file has no such key.</summary>
        public string Text(string key) => _values.TryGetValue(key, out var text) ? text : "";

        /// <summary>Reads the metadata of a file.</summary>
        /// <exception cref="InvalidDataException">The file is not a GGUF file, or is cut off.</exception>
        public static GgufHeader Read(string path)
        {
            using (var file = File.OpenRead(path))
                return Read(file, Path.GetFileName(path));
        }

        /// <summary>Reads the metadata of a stream.</summary>
        public static GgufHeader Read(Stream stream, string name)
        {
            var header = new GgufHeader();
            try
            {
                using (var reader = new BinaryReader(stream, Encoding.UTF8, true))
                    header.ReadAll(reader, name);
            }
            catch (EndOfStreamException)
            {
                throw Invalid(name, "it ends inside its metadata; download it again");
            }
            return header;
        }

        void ReadAll(BinaryReader reader, string name)
        {
            if (reader.ReadUInt32() != Magic)
                throw Invalid(name, "expected a file that begins with 'GGUF'");
            Version = reader.ReadUInt32();
            if (Version < 2 || Version > 3)
                throw Invalid(name, $"expected version 2 or 3 of the format, found {Version}");
            Tensors = reader.ReadUInt64();
            var entries = reader.ReadUInt64();
            if (entries > MaxEntries)
                throw Invalid(name, $"{entries} metadata entries, expected at most {MaxEntries}");
            for (ulong i = 0; i < entries; ++i)
            {
                var key = String(reader, name);
                var value = Value(reader, reader.ReadUInt32(), name, 0);
                if (value != null)
                    _values[key] = value;
            }
        }

        // Null for an array.
        static string Value(BinaryReader reader, uint type, string name, int depth)
        {
            if (type == TypeString)
                return String(reader, name);
            if (type == TypeArray)
            {
                SkipArray(reader, name, depth);
                return null;
            }
            if (type >= Sizes.Length)
                throw Invalid(name, $"unknown metadata type {type}");
            return Number(reader, type).ToString(null, CultureInfo.InvariantCulture);
        }

        static IFormattable Number(BinaryReader reader, uint type)
        {
            switch (type)
            {
                case 0: return reader.ReadByte();
                case 1: return reader.ReadSByte();
                case 2: return reader.ReadUInt16();
                case 3: return reader.ReadInt16();
                case 4: return reader.ReadUInt32();
                case 5: return reader.ReadInt32();
                case 6: return reader.ReadSingle();
                case 7: return reader.ReadByte();
                case 10: return reader.ReadUInt64();
                case 11: return reader.ReadInt64();
                default: return reader.ReadDouble();
            }
        }

        static void SkipArray(BinaryReader reader, string name, int depth)
        {
            var type = reader.ReadUInt32();
            var count = reader.ReadUInt64();
            if (depth > 4 || type >= Sizes.Length || count > (ulong)reader.BaseStream.Length)
                throw Invalid(name, "an array of its metadata is damaged; download it again");
            if (Sizes[type] > 0)
                Skip(reader, count * (ulong)Sizes[type]);
            else
                for (ulong i = 0; i < count; ++i)
                    if (type == TypeString)
                        Skip(reader, reader.ReadUInt64());
                    else
                        SkipArray(reader, name, depth + 1);
        }

        static void Skip(BinaryReader reader, ulong bytes)
        {
            if (bytes > (ulong)(reader.BaseStream.Length - reader.BaseStream.Position))
                throw new EndOfStreamException();
            reader.BaseStream.Seek((long)bytes, SeekOrigin.Current);
        }

        static string String(BinaryReader reader, string name)
        {
            var size = reader.ReadUInt64();
            if (size > MaxText)
                throw Invalid(name, $"a text of {size} bytes in its metadata; download it again");
            var bytes = reader.ReadBytes((int)size);
            if (bytes.Length != (int)size)
                throw new EndOfStreamException();
            return Encoding.UTF8.GetString(bytes);
        }

        static InvalidDataException Invalid(string name, string why) =>
            new InvalidDataException($"invalid model '{name}': {why}");
    }
}
