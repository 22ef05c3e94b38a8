// How an engine does: for overlays, dashboards and tests.
using Sotto.Interop;

namespace Sotto
{
    /// <summary>An engine's figures. Those of the last second cover whole slices and frames.</summary>
    public readonly struct SottoStats
    {
        /// <summary>Who comes first.</summary>
        public readonly SottoMode Mode;

        /// <summary>Requests that are not over.</summary>
        public readonly int Live;

        /// <summary>Answers that wait for a model to have room.</summary>
        public readonly int Waiting;

        /// <summary>Answers whose prompt is being worked through.</summary>
        public readonly int Prefilling;

        /// <summary>Answers under way.</summary>
        public readonly int Decoding;

        /// <summary>Answers that were begun, and gave up their place to others.</summary>
        public readonly int Parked;

        /// <summary>On how many threads steps are taken.</summary>
        public readonly int Threads;

        /// <summary>Of the time that models may use at present, 0 to 1.</summary>
        public readonly float Share;

        /// <summary>Of the last second, in which they computed, 0 to 1.</summary>
        public readonly float Busy;

        /// <summary>Spoken in the last second, by all together.</summary>
        public readonly float TokensPerSecond;

        /// <summary>Tokens of prompts that were worked through in the last second.</summary>
        public readonly float PromptPerSecond;

        /// <summary>How long the first of those that wait has waited.</summary>
        public readonly float QueueWaitMaxMs;

        /// <summary>From submission to first token: the mean of the last 32 answers.</summary>
        public readonly float TtftMeanMs;

        /// <summary>What a step takes: the 99th of 100, of the last 256.</summary>
        public readonly float StepP99Ms;

        /// <summary>The game's work on a frame, median of the last 256. 0: no frames.</summary>
        public readonly float FrameP50Ms;

        /// <summary>The 95th of 100.</summary>
        public readonly float FrameP95Ms;

        /// <summary>The 99th of 100.</summary>
        public readonly float FrameP99Ms;

        /// <summary>Frames that were reported.</summary>
        public readonly ulong Frames;

        /// <summary>Those whose work took longer than their period.</summary>
        public readonly ulong FramesMissed;

        /// <summary>Requests that ended with SOTTO_OK.</summary>
        public readonly ulong Finished;

        /// <summary>Those that ended otherwise, but for the next.</summary>
        public readonly ulong Failed;

        /// <summary>Those that were cancelled.</summary>
        public readonly ulong Cancelled;

        /// <summary>Tokens spoken.</summary>
        public readonly ulong CompletionTokens;

        /// <summary>Tokens of prompts that were worked through.</summary>
        public readonly ulong PromptTokens;

        /// <summary>Tokens of prompts that were remembered.</summary>
        public readonly ulong CachedPromptTokens;

        /// <summary>Pieces of work done.</summary>
        public readonly ulong Slices;

        /// <summary>What they took.</summary>
        public readonly ulong SliceNs;

        /// <summary>How much of that they waited for the game.</summary>
        public readonly ulong GatedNs;

        /// <summary>Of all models together.</summary>
        public readonly ulong BytesInUse;

        /// <summary>What they may take together. 0: no limit.</summary>
        public readonly ulong VramBudget;

        /// <summary>The most that they took together, so far.</summary>
        public readonly ulong BytesPeak;

        /// <summary>Of what is in use: models' weights.</summary>
        public readonly ulong BytesWeights;

        /// <summary>Of what is in use: what streams remember.</summary>
        public readonly ulong BytesKv;

        /// <summary>Of what is in use: what steps are computed in.</summary>
        public readonly ulong BytesCompute;

        /// <summary>Of what is in use: what those remember who gave up their place.</summary>
        public readonly ulong BytesParked;

        /// <summary>Models that gave way to others. They come back when they are asked for.</summary>
        public readonly int ModelsEvicted;

        internal SottoStats(in sotto_stats told)
        {
            Mode = (SottoMode)told.mode;
            Live = (int)told.live;
            Waiting = (int)told.waiting;
            Prefilling = (int)told.prefilling;
            Decoding = (int)told.decoding;
            Parked = (int)told.parked;
            Threads = (int)told.threads;
            Share = told.share;
            Busy = told.busy;
            TokensPerSecond = told.tokens_per_s;
            PromptPerSecond = told.prompt_per_s;
            QueueWaitMaxMs = told.queue_wait_max_ms;
            TtftMeanMs = told.ttft_mean_ms;
            StepP99Ms = told.step_p99_ms;
            FrameP50Ms = told.frame_p50_ms;
            FrameP95Ms = told.frame_p95_ms;
            FrameP99Ms = told.frame_p99_ms;
            Frames = told.frames;
            FramesMissed = told.frames_missed;
            Finished = told.finished;
            Failed = told.failed;
            Cancelled = told.cancelled;
            CompletionTokens = told.completion_tokens;
            PromptTokens = told.prompt_tokens;
            CachedPromptTokens = told.cached_prompt_tokens;
            Slices = told.slices;
            SliceNs = told.slice_ns;
            GatedNs = told.gated_ns;
            BytesInUse = told.bytes_in_use;
            VramBudget = told.vram_budget;
            BytesPeak = told.bytes_peak;
            BytesWeights = told.bytes_weights;
            BytesKv = told.bytes_kv;
            BytesCompute = told.bytes_compute;
            BytesParked = told.bytes_parked;
            ModelsEvicted = (int)told.models_evicted;
        }
    }
}
