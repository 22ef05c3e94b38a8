// Images: requests for them, raw pixels, textures that are uploaded one a frame, and the component that paints.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Doubles;
using Sotto;
using Sotto.Interop;
using UnityEngine;

static partial class Suite
{
    const int ImageSteps = 8;

    static void Images()
    {
        Run("images awaited", ImagesAwaited);
        Run("fields of images", ImageFields);
        Run("images that fail", ImageFailures);
        Run("raw pixels", RawPixels);
        Run("textures", ImageTextures);
        Run("pictures", Pictures);
        Run("pictures that fail", FailingPictures);
    }

    static byte[] Pixels(int width, int height, int channels, int seed = 1)
    {
        var pixels = new byte[width * height * channels];
        new System.Random(seed).NextBytes(pixels);
        return pixels;
    }

    static byte[] FlippedRgba(byte[] pixels, int width, int height, int channels)
    {
        var flipped = new byte[4 * width * height];
        for (var i = 0; i < width * height; ++i)
        {
            var to = 4 * ((height - 1 - i / width) * width + i % width);
            for (var c = 0; c < 3; ++c)
                flipped[to + c] = pixels[channels * i + (channels < 3 ? 0 : c)];
            flipped[to + 3] = channels % 2 == 0 ? pixels[channels * i + channels - 1] : (byte)255;
        }
        return flipped;
    }

    static string Info(int index, int width, int height, bool isPreview = false, string format = "png") =>
        $"{{\"index\": {index}, \"seed\": {(isPreview ? "null" : (7 + index).ToString())}, \"width\": {width}, "
        + $"\"height\": {height}, \"format\": \"{format}\"{(isPreview ? ", \"partial\": true" : "")}}}";

    // A script of an image model: its files and what describes them; ms is the time of a denoise step.
    static string Painter(int ms, params (byte[] File, string Info)[] parts) =>
        "{\"response\": {\"data\": []}, \"tokens\": [], \"step_tokens\": 1, "
        + $"\"prompt_tokens\": {ImageSteps}, \"prompt_token_ms\": {ms}, "
        + $"\"data\": [{string.Join(", ", parts.Select(p => $"\"{BitConverter.ToString(p.File).Replace("-", "")}\""))}], "
        + $"\"data_info\": [{string.Join(", ", parts.Select(p => p.Info))}]}}";

    static async Task<SottoImage> Continue(SottoImageAnswer answer) => await answer;

    static void ImagesAwaited()
    {
        byte[] small = Pixels(2, 2, 3), fox = Pixels(5, 7, 4); // the bytes of files
        using (var engine = NewEngine())
        {
            Load(engine, "painter", Painter(1, (small, Info(0, 2, 2, true)), (fox, Info(0, 5, 7)), (small, Info(1, 2, 2))));
            var ask = new SottoImageRequest("painter", "a fox") { N = 2, Seed = 7, Previews = 1 };
            var answer = engine.GenerateImageAsync(ask);
            var progress = new List<float>();
            var previews = new List<SottoImage>();
            answer.Answer.Progressed += one => progress.Add(answer.Progress);
            answer.PreviewAdded += (one, image) => throw new InvalidOperationException("preview handler");
            answer.PreviewAdded += (one, image) => previews.Add(image);
            var awaited = Continue(answer);
            Pump(engine, () => awaited.IsCompleted);
            var made = awaited.Result;
            Expect(progress.Count >= ImageSteps && progress.SequenceEqual(progress.OrderBy(p => p)), string.Join(" ", progress));
            Expect(progress.Distinct().Count() >= ImageSteps && answer.Progress == 1, "a value for each step");
            Expect(previews.Count == 1 && previews[0] == answer.Preview && previews[0].IsPreview, "one preview");
            Expect(made.Data.SequenceEqual(fox) && made.Format == "png" && !made.IsPreview, "the bytes of the file");
            Same($"{made.Index} {made.Seed} {made.Width} {made.Height} {previews[0].Seed}", "0 7 5 7 -1");
            Expect(answer.Images.Count == 2 && answer.Images[1].Index == 1 && answer.Images[1].Seed == 8, "both images");
            Expect(Logged("exception: preview handler").Count == 1, string.Join("\n", Player.Log));
            var cut = engine.RemoveBackgroundAsync("painter", fox);
            Pump(engine, () => cut.IsDone);
            Expect(Continue(cut).Result.Data.SequenceEqual(fox), cut.Answer.Error);
        }
    }

    static void ImageFields()
    {
        var least = new SottoImageRequest("m", "a \"fox\"");
        Same(least.ToRequest().ToString(), "{\"model\":\"m\",\"prompt\":\"a \\\"fox\\\"\",\"response_format\":\"data\"}");
        Same(least.ToRequest().Priority, SottoPriority.Background);
        var all = new SottoImageRequest("m", "p")
        {
            NegativePrompt = "text", Width = 64, Height = 32, Steps = 4, GuidanceScale = 1.5, Seed = -1, N = 3,
            Image = new byte[] { 1 }, Mask = new byte[] { 2 }, Strength = 0.25, Previews = 2, EmbedMetadata = false,
            Format = SottoImageFormat.Raw, Priority = SottoPriority.Normal,
        };
        Same(
            all.ToRequest().ToString(),
            "{\"model\":\"m\",\"seed\":-1,\"n\":3,\"prompt\":\"p\",\"response_format\":\"data\","
            + "\"output_format\":\"raw\","
            + "\"negative_prompt\":\"text\",\"size\":\"64x32\",\"steps\":4,\"guidance_scale\":1.5,\"image\":\"AQ==\","
            + "\"mask\":\"Ag==\",\"strength\":0.25,\"partial_images\":2,\"embed_metadata\":false}");
        Same(all.ToRequest().Priority, SottoPriority.Normal);
        using (var engine = NewEngine())
        {
            Load(engine, "m", Painter(0, (new byte[] { 1 }, Info(0, 1, 1))));
            var known = engine.GenerateImageAsync(all); // the library knows each field
            Pump(engine, () => known.IsDone);
            Same(known.Answer.Error, "");
            var cut = engine.RemoveBackgroundAsync("m", new byte[] { 1 }, maskOnly: true);
            Pump(engine, () => cut.IsDone);
            Same(cut.Answer.Error, "");
        }
    }

    static void ImageFailures()
    {
        using (var engine = NewEngine())
        using (var source = new CancellationTokenSource())
        {
            Load(engine, "none", Painter(0));
            Load(engine, "slow", Painter(2000, (new byte[] { 1 }, Info(0, 1, 1))));
            Load(engine, "odd", Painter(0, (new byte[] { 1 }, "{\"width\": \"wide\"}")));
            foreach (var wrong in new[]
                     {
                         new SottoImageRequest("none", "p") { Steps = 0 },
                         new SottoImageRequest("none", ""),
                         new SottoImageRequest("none", null),
                         new SottoImageRequest("none", "p") { Width = 64 },
                         new SottoImageRequest("none", "p") { Previews = -1 },
                     })
            {
                var refused = engine.GenerateImageAsync(wrong);
                Pump(engine, () => refused.IsDone);
                Same(refused.Answer.Status, Native.SOTTO_ERROR_ARGUMENT);
            }
            Throws(Native.SOTTO_ERROR_ARGUMENT, "image 'null'", () => engine.RemoveBackgroundAsync("none", null));
            foreach (var model in new[] { "none", "odd" })
            {
                var empty = engine.GenerateImageAsync(new SottoImageRequest(model, "p"));
                Pump(engine, () => empty.IsDone);
                Throws(Native.SOTTO_ERROR_INFERENCE, "no image", () => empty.GetAwaiter().GetResult());
            }
            var stopped = Continue(engine.GenerateImageAsync(new SottoImageRequest("slow", "p"), source.Token));
            for (var i = 0; i < 20; ++i, Thread.Sleep(5))
                engine.Drain();
            var began = SottoEngine.NowNs;
            source.Cancel();
            Pump(engine, () => stopped.IsCompleted);
            Expect(stopped.IsCanceled, $"{stopped.Exception}");
            Expect((SottoEngine.NowNs - began) / 1e9 < 1, "the request ends within a step of two seconds");
        }
    }

    static SottoImage Raw(byte[] pixels, int width, int height) =>
        SottoImage.Parse(pixels, Info(0, width, height, format: "raw"));

    static void RawPixels()
    {
        foreach (var channels in new[] { 1, 4 })
        {
            var pixels = Pixels(9, 11, channels, channels);
            var rgba = Raw(pixels, 9, 11).ToRgba();
            Expect(rgba.SequenceEqual(FlippedRgba(pixels, 9, 11, channels)), $"{channels} channels");
        }
        void Refused(SottoImage image) =>
            Throws(Native.SOTTO_ERROR_ARGUMENT, "raw pixels", () => image.ToRgba());
        Refused(SottoImage.Parse(Pixels(9, 11, 4), Info(0, 9, 11)));
        foreach (var size in new[] { 0, 1, 98, 100, 198, 395, 397 })
            Refused(Raw(new byte[size], 9, 11));
        Refused(Raw(new byte[4], 0, 11));
        Refused(Raw(new byte[4], -1, -1));
        Refused(Raw(new byte[4], 1 << 30, 1 << 30));
    }

    static void ImageTextures()
    {
        var pixels = Pixels(5, 7, 4);
        var runtime = SottoRuntime.For(Settings(Painter(1, (pixels, Info(0, 5, 7, format: "raw")))));
        var made = Continue(runtime.GenerateImageAsync(new SottoImageRequest("", "a fox"))); // loads the model
        Expect(Player.FramesUntil(() => made.IsCompleted), "an image of the default model");
        var loads = new[] { 0, 1, 2 }.Select(i => runtime.LoadTextureAsync(made.Result)).ToArray();
        var damaged = runtime.LoadTextureAsync(Raw(pixels.Take(60).ToArray(), 5, 7));
        Expect(!loads[0].IsCompleted, "no texture is made inside the call");
        Thread.Sleep(100); // all are turned
        for (var frame = 1; frame <= 3; ++frame)
        {
            Player.Frame();
            Same(loads.Count(one => one.IsCompleted), frame);
        }
        var texture = loads[0].Result;
        Expect(Textures.Uploaded[texture].SequenceEqual(FlippedRgba(pixels, 5, 7, 4)), "the pixels, upright");
        Expect(texture.width == 5 && texture.height == 7 && !texture.isReadable, "the size; no copy in memory");
        Expect(Player.FramesUntil(() => damaged.IsCompleted), "an image without all its pixels ends");
        Expect(damaged.Exception?.InnerException is SottoException, $"{damaged.Exception}");
        Throws(Native.SOTTO_ERROR_ARGUMENT, "image 'null'", () => runtime.LoadTextureAsync(null));
        var cut = Continue(runtime.RemoveBackgroundAsync("npc", pixels, format: SottoImageFormat.Raw));
        Expect(Player.FramesUntil(() => cut.IsCompleted) && cut.Result.Width == 5, "a background");
        var gone = Continue(runtime.GenerateImageAsync(new SottoImageRequest("/nowhere/painter.gguf", "a fox")));
        Expect(Player.FramesUntil(() => gone.IsCompleted), "a model that is missing");
        Expect(gone.Exception?.InnerException is SottoException no && no.Message.Contains("painter.gguf"), $"{gone.Exception}");
        Task<Texture2D> late = runtime.LoadTextureAsync(made.Result);
        var unmade = Continue(runtime.GenerateImageAsync(new SottoImageRequest("", "another")));
        Player.Reset();
        Expect(late.IsCanceled && unmade.IsCanceled, "the end of the engine cancels both");
        Throws(Native.SOTTO_ERROR_STATE, "no engine", () => runtime.LoadTextureAsync(made.Result));
    }

    static SottoPicture NewPicture(SottoSettings settings, List<Texture2D> shown, List<string> failed)
    {
        var picture = new GameObject("portrait").AddComponent<SottoPicture>();
        picture.settings = settings;
        picture.prompt = "an innkeeper";
        picture.previews = 1;
        picture.onTexture.AddListener(shown.Add);
        picture.onFailed.AddListener(failed.Add);
        return picture;
    }

    static void Pictures()
    {
        byte[] small = Pixels(2, 2, 4), large = Pixels(4, 4, 4);
        var settings = Settings(
            Painter(1, (small, Info(0, 2, 2, true, "raw")), (large, Info(0, 4, 4, format: "raw"))));
        List<Texture2D> shown = new List<Texture2D>();
        List<string> failed = new List<string>();
        var picture = NewPicture(settings, shown, failed);
        var progress = new List<float>();
        picture.onProgress.AddListener(progress.Add);
        picture.Generate();
        Expect(picture.IsBusy && picture.Texture == null, "Generate does not wait");
        Expect(Player.FramesUntil(() => !picture.IsBusy), "a picture");
        Expect(progress.Count >= ImageSteps && progress.Last() == 1, string.Join(" ", progress));
        Expect(shown.Last() == picture.Texture && picture.Texture.width == 4 && picture.Image.Data.SequenceEqual(large), "it");
        Expect(shown.Count == 1 || shown.Count == 2 && shown[0] == null, "the preview's texture is destroyed");
        var first = picture.Texture;
        picture.Generate();
        picture.Generate(); // cancels the one before
        Player.Frame();
        Expect(Player.FramesUntil(() => !picture.IsBusy) && picture.Texture != first && first == null, "another one");
        picture.Generate();
        picture.enabled = false;
        var count = shown.Count;
        for (var i = 0; i < 50; ++i, Thread.Sleep(2))
            Player.Frame();
        Expect(!picture.IsBusy && shown.Count == count, "disabling it cancels");
        picture.Generate();
        Expect(!picture.IsBusy, "a disabled one does not paint");
        var last = picture.Texture;
        Expect(last != null && failed.Count == 0, string.Join("; ", failed));
        UnityEngine.Object.Destroy(picture);
        Player.Frame();
        Player.Frame();
        Expect(last == null, "destroying it destroys its texture");
    }

    static void FailingPictures()
    {
        List<Texture2D> shown = new List<Texture2D>();
        List<string> failed = new List<string>();
        var cut = Pixels(4, 4, 4).Take(60).ToArray();
        var settings = Settings(
            Painter(1, (cut, Info(0, 4, 4, true, "raw")), (cut, Info(0, 4, 4, format: "raw"))));
        var picture = NewPicture(settings, shown, failed);
        picture.Generate();
        Expect(Player.FramesUntil(() => failed.Count > 0) && failed[0].Contains("invalid image"), string.Join("; ", failed));
        picture.prompt = "";
        picture.Generate();
        Expect(Player.FramesUntil(() => failed.Count > 1) && failed[1].Contains("prompt"), string.Join("; ", failed));
        picture.prompt = "an innkeeper";
        picture.Generate();
        UnityEngine.Object.Destroy(SottoRuntime.For(settings).gameObject);
        Player.Frame();
        Expect(!picture.IsBusy && failed.Count == 2 && shown.Count == 0, "the end of the engine is no failure");
    }
}
