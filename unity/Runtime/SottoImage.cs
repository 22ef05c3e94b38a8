// Images: what a request for one says, and what arrives.
using System;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>How the bytes of an image are arranged.</summary>
    public enum SottoImageFormat
    {
        /// <summary>A PNG file.</summary>
        Png,

        /// <summary>A lossless WebP file.</summary>
        WebP,

        /// <summary>Pixels, which become a texture without a decoder.</summary>
        Raw,
    }

    /// <summary>An image that a model generated, or whose background it removed.</summary>
    public sealed class SottoImage
    {
        SottoImage(byte[] data) => Data = data;

        /// <summary>
        /// The bytes: a file, which keeps the image on disk, or raw pixels: RGBA, the highest row first; 1 byte per pixel of
        /// a mask.
        /// </summary>
        public byte[] Data { get; }

        /// <summary>Format of the bytes: "png", "webp" or "raw".</summary>
        public string Format { get; private set; } = "";

        /// <summary>Width in pixels.</summary>
        public int Width { get; private set; }

        /// <summary>Height in pixels.</summary>
        public int Height { get; private set; }

        /// <summary>Number of the image in its request, from 0.</summary>
        public int Index { get; private set; }

        /// <summary>The seed that makes the image again. -1: it has none.</summary>
        public long Seed { get; private set; } = -1;

        /// <summary>Whether more denoise steps follow.</summary>
        public bool IsPreview { get; private set; }

        /// <summary>
        /// Returns raw pixels as RGBA, 4 bytes each, the lowest row first, as Unity's textures are. Any thread.
        /// </summary>
        /// <exception cref="SottoException">The image is a file: its request did not ask for raw pixels.</exception>
        public byte[] ToRgba()
        {
            var count = Width > 0 && Height > 0 ? (long)Width * Height : 0;
            var channels = Format == "raw" && count > 0 ? Data.Length / count : 0;
            if ((channels != 4 && channels != 1) || Data.Length != channels * count)
                throw new SottoException(
                    Native.SOTTO_ERROR_ARGUMENT,
                    $"invalid image '{Format}' of {Data.Length} bytes: expected {Width}x{Height} raw pixels; "
                    + "request the format SottoImageFormat.Raw");
            int row = (int)channels * Width;
            var pixels = new byte[4 * count];
            for (var y = 0; y < Height; ++y)
            {
                int from = (Height - 1 - y) * row, to = 4 * Width * y;
                if (channels == 4)
                    Buffer.BlockCopy(Data, from, pixels, to, row);
                else
                    Widen(from, pixels, to);
            }
            return pixels;
        }

        // Copies a row of grey pixels.
        void Widen(int from, byte[] pixels, int to)
        {
            for (var x = 0; x < Width; ++x, to += 4)
            {
                pixels[to] = pixels[to + 1] = pixels[to + 2] = Data[from + x];
                pixels[to + 3] = 255;
            }
        }

        /// <summary>Reads a data event.</summary>
        internal static unsafe SottoImage Parse(byte[] data, string info)
        {
            var image = new SottoImage(data);
            var bytes = Utf8.Bytes(info);
            fixed (byte* b = bytes)
            {
                var json = new JsonReader(b, bytes.Length);
                json.BeginObject();
                for (var name = json.NextField(); name != null; name = json.NextField())
                    switch (name)
                    {
                        case "index": image.Index = (int)json.Integer(); break;
                        case "seed" when json.Peek() != 'n': image.Seed = json.Integer(); break;
                        case "width": image.Width = (int)json.Integer(); break;
                        case "height": image.Height = (int)json.Integer(); break;
                        case "format": image.Format = json.Text(); break;
                        case "partial": image.IsPreview = json.Flag(); break;
                        default: json.Skip(); break;
                    }
            }
            return image;
        }
    }

    /// <summary>What to generate.</summary>
    /// <remarks>
    /// A field that is null takes the model's default; the library reports a value out of range in the request's last
    /// event. The same model, seed, size and steps give the same image.
    /// </remarks>
    /// <example><code>
    /// var ask = new SottoImageRequest("painter", "portrait of an innkeeper, oil") { Width = 256, Height = 256, Seed = 7 };
    /// SottoImage image = await engine.GenerateImageAsync(ask, token);
    /// </code></example>
    public sealed class SottoImageRequest
    {
        /// <summary>Creates a request.</summary>
        /// <param name="model">Id of a model that generates images.</param>
        /// <param name="prompt">What the image shows.</param>
        public SottoImageRequest(string model, string prompt)
        {
            Model = model;
            Prompt = prompt;
        }

        /// <summary>`model`: id of a model that generates images.</summary>
        public string Model { get; set; }

        /// <summary>`prompt`: what the image shows.</summary>
        public string Prompt { get; set; }

        /// <summary>`negative_prompt`: what it does not show. Empty: none.</summary>
        public string NegativePrompt { get; set; } = "";

        /// <summary>Width in pixels, 16 to 8192; a model may need multiples of 8 or more. 0: the model's own size.</summary>
        public int Width { get; set; }

        /// <summary>Height in pixels, 16 to 8192. 0: the model's own size.</summary>
        public int Height { get; set; }

        /// <summary>`steps`: denoise steps, 1 to 1000; time grows with them.</summary>
        public int? Steps { get; set; }

        /// <summary>`guidance_scale`: how closely the image follows the prompt, 0 to 100.</summary>
        public double? GuidanceScale { get; set; }

        /// <summary>`seed`: 0 to 4294967295; -1: random. Image number i has the seed plus i.</summary>
        public long? Seed { get; set; }

        /// <summary>`n`: number of images, 1 to 16.</summary>
        public int? N { get; set; }

        /// <summary>`image`: a PNG, JPEG or WebP file to start from. Null: noise.</summary>
        public byte[] Image { get; set; }

        /// <summary>`mask`: an image of that size, whose transparent pixels are generated anew; of an opaque one, the white. Null: none.</summary>
        public byte[] Mask { get; set; }

        /// <summary>`strength`: how far to depart from <see cref="Image"/>, 0 to 1.</summary>
        public double? Strength { get; set; }

        /// <summary>`partial_images`: previews of each image, 0 to 3.</summary>
        public int Previews { get; set; }

        /// <summary>`output_format`: PNG by default. Raw for a texture, which needs no decoder then.</summary>
        public SottoImageFormat Format { get; set; }

        /// <summary>`embed_metadata`: writes prompt, model and seed into the file. False for files that a game ships.</summary>
        public bool EmbedMetadata { get; set; } = true;

        /// <summary>Scheduling priority; characters that speak go first.</summary>
        public SottoPriority Priority { get; set; } = SottoPriority.Background;

        internal SottoRequest ToRequest()
        {
            var ask = new SottoRequest(Model, SottoOp.GenerateImage) { Seed = Seed, N = N, Priority = Priority };
            ask.Set("prompt", Prompt ?? "");
            Deliver(ask, Format);
            if (!string.IsNullOrEmpty(NegativePrompt))
                ask.Set("negative_prompt", NegativePrompt);
            if (Width != 0 || Height != 0)
                ask.Set("size", $"{Width}x{Height}");
            if (Steps != null)
                ask.Set("steps", (long)Steps);
            if (GuidanceScale != null)
                ask.Set("guidance_scale", GuidanceScale.Value);
            if (Image != null)
                ask.Set("image", Convert.ToBase64String(Image));
            if (Mask != null)
                ask.Set("mask", Convert.ToBase64String(Mask));
            if (Strength != null)
                ask.Set("strength", Strength.Value);
            if (Previews != 0)
                ask.Set("partial_images", (long)Previews);
            return EmbedMetadata ? ask : ask.Set("embed_metadata", false);
        }

        // Images arrive as bytes of events.
        static void Deliver(SottoRequest ask, SottoImageFormat format)
        {
            ask.Set("response_format", "data");
            if (format != SottoImageFormat.Png)
                ask.Set("output_format", format == SottoImageFormat.Raw ? "raw" : "webp");
        }

        internal static SottoRequest Background(string model, byte[] image, bool maskOnly, SottoImageFormat format)
        {
            Arguments.Required("image", image, "the bytes of a PNG, JPEG or WebP file");
            var ask = new SottoRequest(model, SottoOp.RemoveBackground) { Priority = SottoPriority.Background };
            ask.Set("image", Convert.ToBase64String(image));
            Deliver(ask, format);
            return maskOnly ? ask.Set("mask_only", true) : ask;
        }
    }
}
