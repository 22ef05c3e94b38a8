// The reader of GGUF metadata: a file made here, every cut of it, and damaged ones.
using System.IO;
using System.Text;
using NUnit.Framework;
using Sotto.Editor;

namespace Sotto.Tests
{
    public sealed class GgufHeaderTests
    {
        const uint TypeU32 = 4, TypeString = 8, TypeArray = 9;

        [Test]
        public void ReadsMetadata()
        {
            var header = Read(Sample());
            Assert.That(header.Version, Is.EqualTo(3));
            Assert.That(header.Tensors, Is.EqualTo(7));
            Assert.That(header.Architecture, Is.EqualTo("llama"));
            Assert.That(header.Title, Is.EqualTo("Wirtin 夜"));
            Assert.That(header.TrainedContext, Is.EqualTo(2048));
            Assert.That(header.Text("absent"), Is.Empty);
        }

        [Test]
        public void RefusesEveryCut()
        {
            var whole = Sample();
            for (var size = 0; size < whole.Length; ++size)
            {
                var part = new byte[size];
                System.Array.Copy(whole, part, size);
                Assert.Throws<InvalidDataException>(() => Read(part), $"{size} bytes");
            }
        }

        [TestCase(0, (byte)'X', "begins with 'GGUF'")]
        [TestCase(4, 9, "version 2 or 3")]
        [TestCase(23, 9, "metadata entries")]
        [TestCase(31, 9, "a text of")]
        public void RefusesDamage(int at, int value, string reason)
        {
            var bytes = Sample();
            bytes[at] = (byte)value;
            var refused = Assert.Throws<InvalidDataException>(() => Read(bytes));
            Assert.That(refused.Message, Does.Contain(reason).And.Contain("'test.gguf'"));
        }

        static GgufHeader Read(byte[] bytes) => GgufHeader.Read(new MemoryStream(bytes), "test.gguf");

        static byte[] Sample()
        {
            var stream = new MemoryStream();
            using (var writer = new BinaryWriter(stream, Encoding.UTF8, true))
            {
                writer.Write(Encoding.ASCII.GetBytes("GGUF"));
                writer.Write(3u);
                writer.Write(7ul); // tensors
                writer.Write(5ul); // entries
                Entry(writer, "general.architecture", TypeString);
                Text(writer, "llama");
                Entry(writer, "tokens", TypeArray);
                writer.Write(TypeString);
                writer.Write(2ul);
                Text(writer, "a");
                Text(writer, "");
                Entry(writer, "scores", TypeArray);
                writer.Write(TypeU32);
                writer.Write(3ul);
                writer.Write(new byte[12]);
                Entry(writer, "general.name", TypeString);
                Text(writer, "Wirtin 夜");
                Entry(writer, "llama.context_length", TypeU32);
                writer.Write(2048u);
            }
            return stream.ToArray();
        }

        static void Entry(BinaryWriter writer, string key, uint type)
        {
            Text(writer, key);
            writer.Write(type);
        }

        static void Text(BinaryWriter writer, string text)
        {
            var bytes = Encoding.UTF8.GetBytes(text);
            writer.Write((ulong)bytes.Length);
            writer.Write(bytes);
        }
    }
}
