// Guardrails: checks text against phrases, regular expressions, topics and the judgement of a model; see guard.h.
using System;
using Sotto.Interop;
using static Sotto.Interop.Utf8;

namespace Sotto
{
    /// <summary>Which list of checkers looks at a text.</summary>
    public enum SottoGuardStage
    {
        /// <summary>What a player writes.</summary>
        Input = Native.SOTTO_GUARD_INPUT,

        /// <summary>What a model writes.</summary>
        Output = Native.SOTTO_GUARD_OUTPUT,

        /// <summary>Prompts of generated images.</summary>
        ImagePrompt = Native.SOTTO_GUARD_IMAGE_PROMPT,
    }

    /// <summary>What happens to a text that a guard has checked.</summary>
    public enum SottoGuardAction
    {
        Allow,
        Block,
        Rewrite,
    }

    /// <summary>The result of a check.</summary>
    public sealed class SottoVerdict
    {
        /// <summary>What happens to the text.</summary>
        public SottoGuardAction Action { get; private set; }

        /// <summary>False if the text is blocked.</summary>
        public bool IsAllowed { get; private set; } = true;

        /// <summary>Name of the checker that decided; "" if the stage has none.</summary>
        public string Checker { get; private set; } = "";

        /// <summary>Category of the checker that decided. Null: nothing was found, or it has none.</summary>
        public string Category { get; private set; }

        /// <summary>Confidence from 0 to 1. Null: nothing was found, or a judge decided.</summary>
        public double? Score { get; private set; }

        /// <summary>Why the text was blocked or rewritten, or "".</summary>
        public string Reason { get; private set; } = "";

        /// <summary>The text as it was, if it was rewritten, else "".</summary>
        public string Original { get; private set; } = "";

        /// <summary>The text to use instead, if it was rewritten, else "".</summary>
        public string Rewritten { get; private set; } = "";

        internal SottoVerdict(JsonReader json)
        {
            json.BeginObject();
            for (var name = json.NextField(); name != null; name = json.NextField())
                switch (name)
                {
                    case "action": ReadAction(ref json); break;
                    case "allowed": IsAllowed = json.Flag(); break;
                    case "checker_name": Checker = json.Text() ?? ""; break;
                    case "category": Category = json.Text(); break;
                    case "score": Score = json.NumberOrNull(); break;
                    default: json.Skip(); break;
                }
        }

        /// <summary>Reads the response of a request of <see cref="SottoRequest.Check"/>.</summary>
        /// <exception cref="SottoException">The text is no JSON object.</exception>
        public static unsafe SottoVerdict Parse(string response)
        {
            var bytes = Bytes(response);
            fixed (byte* b = bytes)
                return new SottoVerdict(new JsonReader(b, bytes.Length));
        }

        // Reads "Allow", {"Block": {...}} or {"Rewrite": {...}}.
        void ReadAction(ref JsonReader json)
        {
            if (json.Peek() == '"')
            {
                json.Text();
                return;
            }
            json.BeginObject();
            for (var name = json.NextField(); name != null; name = json.NextField())
            {
                Action = name == "Rewrite" ? SottoGuardAction.Rewrite : SottoGuardAction.Block;
                json.BeginObject();
                for (var field = json.NextField(); field != null; field = json.NextField())
                    switch (field)
                    {
                        case "reason": Reason = json.Text() ?? ""; break;
                        case "original": Original = json.Text() ?? ""; break;
                        case "rewritten": Rewritten = json.Text() ?? ""; break;
                        default: json.Skip(); break;
                    }
            }
        }
    }

    /// <summary>Checks text against phrases and regular expressions, whole or while it streams.</summary>
    /// <remarks>
    /// Topics and judges need models: <see cref="SottoEngine.CheckText"/> runs them, and a stage that has some throws here.
    /// Any thread may call any method; none waits. Creating one takes about a second for 100,000 phrases: do it while
    /// the game loads. After <see cref="Dispose"/> a method throws a <see cref="SottoException"/>. A guard that is not
    /// disposed is freed when it is collected.
    /// </remarks>
    /// <example><code>
    /// var guard = new SottoGuard(@"{""input"": [{""type"": ""phrases"", ""phrases"": [""swamp rat""]}]}");
    /// if (!guard.Check(SottoGuardStage.Input, line).IsAllowed)
    ///     return;
    /// </code></example>
    public sealed unsafe class SottoGuard : IDisposable
    {
        readonly OwnedHandle _handle;

        /// <summary>Creates a guard.</summary>
        /// <param name="config">The configuration, a JSON object; see guard.h.</param>
        /// <exception cref="SottoException">The configuration is invalid; the message names the JSON path.</exception>
        public SottoGuard(string config)
        {
            Library.Require();
            var body = Bytes(config);
            sotto_guard* guard;
            fixed (byte* b = body)
                SottoEngine.Check(Native.sotto_guard_create(Str(b, body), &guard));
            _handle = new OwnedHandle((IntPtr)guard, value => Native.sotto_guard_destroy((sotto_guard*)value));
        }

        /// <summary>Checks a whole text. Takes time linear in the text.</summary>
        /// <param name="stage">Where the text comes from.</param>
        /// <param name="text">The text, at most 16 MiB of UTF-8.</param>
        public SottoVerdict Check(SottoGuardStage stage, string text)
        {
            var bytes = Scratch(text, out var size);
            sotto_str verdict;
            fixed (byte* b = bytes)
                _handle.Check(Native.sotto_guard_check(
                    At, (int)stage, Str(b, size), &verdict));
            return new SottoVerdict(new JsonReader(verdict));
        }

        /// <summary>Starts to check a text that arrives in pieces.</summary>
        public SottoGuardStream OpenStream(SottoGuardStage stage = SottoGuardStage.Output)
        {
            sotto_guard_stream* stream;
            _handle.Check(Native.sotto_guard_open_stream(At, (int)stage, &stream));
            return new SottoGuardStream(stream);
        }

        internal sotto_guard* At => (sotto_guard*)_handle.Value;

        /// <summary>Frees the guard; its streams continue to work. A second call does nothing.</summary>
        public void Dispose() => _handle.Dispose();
    }

    public sealed unsafe partial class SottoEngine
    {
        /// <summary>
        /// Checks a text with guardrails of all types, and waits for the verdict. Any thread, but never in a frame; there,
        /// await <see cref="SubmitAsync"/> with <see cref="SottoRequest.Check"/>.
        /// </summary>
        /// <param name="stage">Where the text comes from.</param>
        /// <param name="text">The text, at most 16 MiB of UTF-8; 1 MiB if the stage has topics or a judge.</param>
        /// <param name="guardrails">A configuration for this check alone. Null: that of the engine's guard.</param>
        /// <exception cref="SottoException">
        /// There are no guardrails, they are invalid, or a checker's model is not loaded or failed.
        /// </exception>
        public SottoVerdict CheckText(SottoGuardStage stage, string text, string guardrails = null)
        {
            var request = SottoRequest.Check(stage, text, guardrails);
            request.Flags = SottoFlags.Private;
            return SottoVerdict.Parse(WaitDone(Submit(request)).Json);
        }
    }
}
