// Images of a runtime: generation, background removal, and textures made without losing a frame.
using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;
using Sotto.Interop;
using UnityEngine;

namespace Sotto
{
    public sealed partial class SottoRuntime
    {
        readonly List<TextureLoad> _textures = new List<TextureLoad>(); // in the order in which they were requested

        // An image whose rows are being turned, or that waits for its upload.
        sealed class TextureLoad
        {
            public SottoImage Image;
            public Task<byte[]> Pixels;
            public Action<Texture2D, Exception> Ended; // without a texture if it failed; the reason is null at the end
        }

        /// <summary>
        /// Generates images. Loads the model if it is not loaded. Never waits;
        /// `SottoImage image = await runtime.GenerateImageAsync(request, token)`.
        /// </summary>
        /// <param name="request">What to generate, copied. Model: as for <see cref="LoadModel"/>.</param>
        /// <param name="token">Cancels the request, within a denoise step.</param>
        /// <exception cref="SottoException">There is no engine, or the call is not on the main thread.</exception>
        public SottoImageAnswer GenerateImageAsync(SottoImageRequest request, CancellationToken token = default)
        {
            RequireEngine("SottoRuntime.GenerateImageAsync()");
            return StartImage(request.ToRequest(), token);
        }

        /// <summary>
        /// Removes the background of an image. Loads the model if it is not loaded. Never waits; the result has the
        /// image's size, and alpha.
        /// </summary>
        /// <param name="model">A model that segments images, as for <see cref="LoadModel"/>.</param>
        /// <param name="image">A PNG, JPEG or WebP file, copied.</param>
        /// <param name="maskOnly">Returns alpha alone, as a greyscale image.</param>
        /// <param name="format">Format of the result; raw for a texture.</param>
        /// <param name="token">Cancels the request.</param>
        /// <exception cref="SottoException">There is no engine, or the call is not on the main thread.</exception>
        public SottoImageAnswer RemoveBackgroundAsync(
            string model, byte[] image, bool maskOnly = false, SottoImageFormat format = SottoImageFormat.Png,
            CancellationToken token = default)
        {
            RequireEngine("SottoRuntime.RemoveBackgroundAsync()");
            return StartImage(SottoImageRequest.Background(model, image, maskOnly, format), token);
        }

        /// <summary>Makes a texture of raw pixels, without losing a frame.</summary>
        /// <remarks>
        /// A worker thread turns the rows. The main thread then makes the texture, at most one a frame, which copies 4
        /// bytes per pixel: 1 MB for 512 x 512. The texture has no mipmaps and is not readable; it belongs to the
        /// caller, who destroys it. The task is cancelled when the engine ends. For files, such as of an earlier
        /// evening, Unity has ImageConversion.LoadImage(), which decodes within the frame.
        /// </remarks>
        /// <exception cref="SottoException">
        /// There is no engine, or the call is not on the main thread. The task fails if the image is a file.
        /// </exception>
        public Task<Texture2D> LoadTextureAsync(SottoImage image)
        {
            RequireEngine("SottoRuntime.LoadTextureAsync()");
            var made = new TaskCompletionSource<Texture2D>();
            LoadTexture(image, (texture, problem) =>
            {
                if (texture != null)
                    made.TrySetResult(texture);
                else if (problem != null)
                    made.TrySetException(problem);
                else
                    made.TrySetCanceled();
            });
            return made.Task;
        }

        /// <summary>Calls back on the main thread, with a texture or the reason; with neither at the end.</summary>
        internal void LoadTexture(SottoImage image, Action<Texture2D, Exception> ended)
        {
            Arguments.Required("image", image, "an image of a request");
            _textures.Add(
                new TextureLoad { Image = image, Pixels = Task.Run(() => image.ToRgba()), Ended = ended });
        }

        SottoImageAnswer StartImage(SottoRequest request, CancellationToken token)
        {
            request.Model = UsedId(request.Model);
            var answer = Engine.NewAnswer(request, token);
            var load = LoadModel(request.Model);
            if (load.IsDone)
                Submit(answer, load, request);
            else
                load.Completed += ended => Submit(answer, ended, request);
            return new SottoImageAnswer(answer);
        }

        void Submit(SottoAnswer answer, SottoAnswer load, SottoRequest request)
        {
            if (Engine == null || answer.IsDone || answer.IsCancelled)
                return; // the end of the engine, or the next drain, completes the answer
            try
            {
                if (load.Status < 0)
                    Engine.FailLater(answer, load.Status, load.Error);
                else
                    Engine.Start(answer, request);
            }
            catch (SottoException)
            {
                // Start ends the answer with the reason, in the next drain
            }
        }

        // Uploads one texture: more of them would add up in the frame.
        void UploadTexture()
        {
            var ready = _textures.FindIndex(one => one.Pixels.IsCompleted);
            if (ready < 0)
                return;
            var load = _textures[ready];
            _textures.RemoveAt(ready);
            var problem = load.Pixels.Exception?.InnerException;
            CallEnded(load, problem == null ? Upload(load.Image, load.Pixels.Result) : null, problem);
        }

        void EndTextures()
        {
            var left = _textures.ToArray();
            _textures.Clear();
            foreach (var one in left)
                CallEnded(one, null, null);
        }

        static Texture2D Upload(SottoImage image, byte[] pixels)
        {
            var texture = new Texture2D(image.Width, image.Height, TextureFormat.RGBA32, false);
            texture.wrapMode = TextureWrapMode.Clamp;
            texture.LoadRawTextureData(pixels);
            texture.Apply(false, true);
            return texture;
        }

        static void CallEnded(TextureLoad load, Texture2D texture, Exception problem)
        {
            try
            {
                load.Ended(texture, problem);
            }
            catch (Exception thrown)
            {
                Library.Complain(thrown);
            }
        }
    }
}
