// Embeddings: vectors of texts, which a store or an index takes.
using System;
using System.Collections.Generic;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>Reads the response of a request of <see cref="SottoRequest.Embed"/>.</summary>
    public static class SottoEmbeddings
    {
        /// <summary>Returns the vectors of an OpenAI embeddings response, in the order of the texts.</summary>
        /// <exception cref="SottoException">The response has another form.</exception>
        public static unsafe float[][] Parse(string response)
        {
            var found = new List<float[]>();
            var bytes = Utf8.Bytes(response);
            fixed (byte* b = bytes)
            {
                var json = new JsonReader(b, bytes.Length);
                json.BeginObject();
                for (var name = json.NextField(); name != null; name = json.NextField())
                    if (name == "data")
                        for (json.BeginArray(); json.NextItem();)
                            found.Add(ReadVector(ref json));
                    else
                        json.Skip();
            }
            return found.ToArray();
        }

        /// <summary>Returns vectors of one length in a row.</summary>
        internal static float[] Join(IReadOnlyList<float[]> vectors)
        {
            var dim = vectors.Count > 0 ? vectors[0].Length : 0;
            var joined = new float[vectors.Count * dim];
            for (var i = 0; i < vectors.Count; ++i)
                if (vectors[i].Length == dim)
                    Array.Copy(vectors[i], 0, joined, i * dim, dim);
                else
                    throw Bad($"vectors of one length, not of {dim} and {vectors[i].Length} values");
            return joined;
        }

        internal static SottoException Bad(string expected) =>
            new SottoException(Native.SOTTO_ERROR_STATE, $"invalid embeddings response: expected {expected}");

        static float[] ReadVector(ref JsonReader json)
        {
            float[] vector = null;
            json.BeginObject();
            for (var name = json.NextField(); name != null; name = json.NextField())
                if (name != "embedding")
                    json.Skip();
                else if (json.Peek() == '"')
                    vector = Decode(json.Text());
                else
                    vector = json.Floats();
            return vector != null && vector.Length > 0 ? vector : throw Bad("an embedding in each item of data");
        }

        // Decodes `encoding_format` "base64": little-endian floats.
        static float[] Decode(string text)
        {
            byte[] bytes;
            try
            {
                bytes = Convert.FromBase64String(text);
            }
            catch (FormatException)
            {
                throw Bad("base64 text or an array of numbers");
            }
            var vector = new float[bytes.Length / sizeof(float)];
            Buffer.BlockCopy(bytes, 0, vector, 0, vector.Length * sizeof(float));
            return vector;
        }
    }

    public sealed unsafe partial class SottoEngine
    {
        /// <summary>
        /// Embeds texts and waits for their vectors. Any thread, but never in a frame; there, await
        /// <see cref="SubmitAsync"/> with <see cref="SottoRequest.Embed"/>.
        /// </summary>
        /// <param name="model">Id of a loaded model that embeds.</param>
        /// <param name="texts">The texts.</param>
        /// <returns>A vector for each text.</returns>
        public float[][] Embed(string model, params string[] texts) => Embed(SottoRequest.Embed(model, texts), texts);

        // Embeds texts that may be longer than the model's context: the end of a longer one is cut.
        internal float[][] EmbedBeginnings(string model, string[] texts) =>
            Embed(SottoRequest.Embed(model, texts).Set("truncate", true), texts);

        float[][] Embed(SottoRequest request, string[] texts)
        {
            request.Flags = SottoFlags.Private;
            var vectors = SottoEmbeddings.Parse(WaitDone(Submit(request)).Json);
            return vectors.Length == texts.Length ? vectors
                : throw SottoEmbeddings.Bad($"{texts.Length} vectors, not {vectors.Length}");
        }
    }
}
