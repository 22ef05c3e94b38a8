// A request for images under way, and the engine's calls that begin one.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>A request for images under way. Await it for the first image.</summary>
    /// <remarks>It changes only inside <see cref="SottoEngine.Drain"/>, on the thread of that call.</remarks>
    public sealed class SottoImageAnswer
    {
        readonly List<SottoImage> _images = new List<SottoImage>();
        SottoHandlers _previewAdded;

        internal SottoImageAnswer(SottoAnswer answer)
        {
            Answer = answer;
            answer.DataReceived = Receive;
        }

        /// <summary>Raised for each preview; the handler gets it.</summary>
        public event Action<SottoImageAnswer, SottoImage> PreviewAdded
        {
            add => _previewAdded.Add(value);
            remove => _previewAdded.Remove(value);
        }

        /// <summary>The request: its progress, its end, and the means to cancel it.</summary>
        public SottoAnswer Answer { get; }

        /// <summary>Share of the denoise steps that are computed, 0 to 1.</summary>
        public float Progress => Answer.Progress;

        /// <summary>Whether the request has ended.</summary>
        public bool IsDone => Answer.IsDone;

        /// <summary>The latest preview. Null: none so far.</summary>
        public SottoImage Preview { get; private set; }

        /// <summary>The images so far, in the order in which they were completed.</summary>
        public IReadOnlyList<SottoImage> Images => _images;

        /// <summary>Cancels the request, within a denoise step. Any thread; never waits.</summary>
        public void Cancel() => Answer.Cancel();

        /// <summary>Lets `await` wait for the first image, on the thread that created the engine.</summary>
        /// <exception cref="SottoException">The call is on another thread.</exception>
        public SottoImageAwaiter GetAwaiter() => new SottoImageAwaiter(this, Answer.GetAwaiter());

        void Receive(byte[] data, string json)
        {
            var image = SottoImage.Parse(data, json);
            if (!image.IsPreview)
            {
                _images.Add(image);
                return;
            }
            Preview = image;
            foreach (var handler in _previewAdded.Each)
                try
                {
                    ((Action<SottoImageAnswer, SottoImage>)handler)(this, image);
                }
                catch (Exception thrown)
                {
                    Library.Complain(thrown);
                }
        }
    }

    /// <summary>What `await` uses of a <see cref="SottoImageAnswer"/>.</summary>
    public readonly struct SottoImageAwaiter : ICriticalNotifyCompletion
    {
        readonly SottoImageAnswer _images;
        readonly SottoAwaiter _awaiter;

        internal SottoImageAwaiter(SottoImageAnswer images, SottoAwaiter awaiter)
        {
            _images = images;
            _awaiter = awaiter;
        }

        /// <summary>Whether the request has ended, so that awaiting continues at once.</summary>
        public bool IsCompleted => _awaiter.IsCompleted;

        /// <summary>Returns the first image of a request that has ended. Does not wait.</summary>
        /// <exception cref="SottoException">The request failed, has no image, or has not ended.</exception>
        /// <exception cref="OperationCanceledException">The request was cancelled.</exception>
        public SottoImage GetResult()
        {
            _awaiter.GetResult();
            return _images.Images.Count > 0 ? _images.Images[0]
                : throw new SottoException(Native.SOTTO_ERROR_INFERENCE, "the backend's answer has no image");
        }

        /// <summary>Runs the continuation when the request has ended.</summary>
        public void OnCompleted(Action continuation) => _awaiter.OnCompleted(continuation);

        /// <summary>Runs the continuation when the request has ended.</summary>
        public void UnsafeOnCompleted(Action continuation) => _awaiter.UnsafeOnCompleted(continuation);
    }

    public sealed unsafe partial class SottoEngine
    {
        /// <summary>
        /// Generates images. Never waits; `SottoImage image = await engine.GenerateImageAsync(request, token)`.
        /// </summary>
        /// <param name="request">What to generate, copied.</param>
        /// <param name="token">Cancels the request, within a denoise step.</param>
        public SottoImageAnswer GenerateImageAsync(SottoImageRequest request, CancellationToken token = default) =>
            SubmitImageAsync(request.ToRequest(), token);

        /// <summary>Removes the background of an image. Never waits; the result has its size, and alpha.</summary>
        /// <param name="model">Id of a loaded model that segments images.</param>
        /// <param name="image">A PNG, JPEG or WebP file, copied.</param>
        /// <param name="maskOnly">Returns alpha alone, as a greyscale image.</param>
        /// <param name="format">Format of the result; raw for a texture.</param>
        /// <param name="token">Cancels the request.</param>
        public SottoImageAnswer RemoveBackgroundAsync(
            string model, byte[] image, bool maskOnly = false, SottoImageFormat format = SottoImageFormat.Png,
            CancellationToken token = default) =>
            SubmitImageAsync(SottoImageRequest.Background(model, image, maskOnly, format), token);

        SottoImageAnswer SubmitImageAsync(SottoRequest request, CancellationToken token)
        {
            var answer = NewAnswer(request, token);
            var images = new SottoImageAnswer(answer);
            Start(answer, request);
            return images;
        }
    }
}
