// A picture that the game paints while it runs: a portrait, an icon, a sign.
using System;
using UnityEngine;
using UnityEngine.Events;

namespace Sotto
{
    /// <summary>Generates an image of its prompt, and gives it to the game as a texture.</summary>
    /// <remarks>
    /// Main thread only. Call <see cref="Generate"/>, or bind it to a UI event, and bind onTexture to what shows the
    /// texture. Disabling the component cancels the request; destroying it destroys its texture.
    /// </remarks>
    [AddComponentMenu("Sotto/Sotto Picture")]
    public sealed class SottoPicture : MonoBehaviour
    {
        [Tooltip("What the picture shows.")]
        [TextArea(2, 10)]
        public string prompt = "";

        [Tooltip("What it does not show.")]
        public string negativePrompt = "";

        [Tooltip("Id of a model that generates images.")]
        public string model = "";

        [Tooltip("Settings of its engine. Empty: the default settings.")]
        public SottoSettings settings;

        [Tooltip("In pixels; a model may need multiples of 8 or more. 0: the model's own size.")]
        [Min(0)]
        public int width, height;

        [Tooltip("Denoise steps: time grows with them. 0: the model's own number.")]
        [Min(0)]
        public int steps;

        [Tooltip("The same seed gives the same picture. -1: another one each time.")]
        [Min(-1)]
        public int seed = -1;

        [Tooltip("Previews that onTexture gets before the picture.")]
        [Range(0, 3)]
        public int previews;

        [Header("Events")]
        [Tooltip("The texture of a preview, then of the picture; the texture before it is destroyed afterwards.")]
        public UnityEvent<Texture2D> onTexture = new UnityEvent<Texture2D>();

        [Tooltip("Share of the steps that are computed, 0 to 1.")]
        public UnityEvent<float> onProgress = new UnityEvent<float>();

        [Tooltip("Why there is no picture. A request that is cancelled does not raise it.")]
        public UnityEvent<string> onFailed = new UnityEvent<string>();

        SottoRuntime _runtime;
        SottoImageAnswer _answer; // of the latest call; null: none, or cancelled

        /// <summary>The latest texture. Null: none so far.</summary>
        public Texture2D Texture { get; private set; }

        /// <summary>
        /// The latest picture as raw pixels, such as to keep it beside a save game: ImageConversion.EncodeArrayToPNG(). Null:
        /// none so far.
        /// </summary>
        public SottoImage Image { get; private set; }

        /// <summary>Whether a picture is under way.</summary>
        public bool IsBusy => _answer != null;

        /// <summary>Begins a picture, and cancels one that is under way. Never waits.</summary>
        public void Generate()
        {
            Cancel();
            if (!isActiveAndEnabled)
                return;
            _runtime = SottoRuntime.For(settings);
            var request = new SottoImageRequest(model, prompt)
            {
                NegativePrompt = negativePrompt, Width = width, Height = height, Previews = previews, Seed = seed,
                Format = SottoImageFormat.Raw,
            };
            if (steps > 0)
                request.Steps = steps;
            try
            {
                _answer = _runtime.GenerateImageAsync(request);
            }
            catch (SottoException refused)
            {
                _runtime.CallLater(() => onFailed.Invoke(refused.Message));
                return;
            }
            var answer = _answer;
            answer.PreviewAdded += (one, preview) => Show(one, preview);
            answer.Answer.Progressed += one => Report(answer);
            answer.Answer.Completed += one => End(answer);
        }

        /// <summary>Cancels the picture under way. No effect if there is none.</summary>
        public void Cancel()
        {
            var answer = _answer;
            _answer = null;
            answer?.Cancel();
        }

        void OnDisable() => Cancel();

        void OnDestroy()
        {
            if (Texture != null)
                Destroy(Texture);
        }

        void Report(SottoImageAnswer answer)
        {
            if (answer == _answer)
                onProgress.Invoke(answer.Progress);
        }

        void End(SottoImageAnswer answer)
        {
            if (answer != _answer)
                return;
            try
            {
                Show(answer, answer.GetAwaiter().GetResult());
            }
            catch (Exception problem)
            {
                Fail(problem is OperationCanceledException ? null : problem);
            }
        }

        void Show(SottoImageAnswer answer, SottoImage image)
        {
            if (answer == _answer)
                _runtime.LoadTexture(image, (texture, problem) => Take(answer, image, texture, problem));
        }

        void Take(SottoImageAnswer answer, SottoImage image, Texture2D texture, Exception problem)
        {
            if (texture == null)
            {
                if (answer == _answer && !image.IsPreview)
                    Fail(problem);
                return;
            }
            if (answer != _answer) // cancelled, or a preview that was turned after the picture
            {
                Destroy(texture);
                return;
            }
            var before = Texture;
            Texture = texture;
            if (!image.IsPreview)
            {
                Image = image;
                _answer = null;
            }
            onTexture.Invoke(texture);
            if (before != null)
                Destroy(before);
        }

        // Without a problem if the request was cancelled, or the engine has ended.
        void Fail(Exception problem)
        {
            _answer = null;
            if (problem != null)
                onFailed.Invoke(problem.Message);
        }
    }
}
