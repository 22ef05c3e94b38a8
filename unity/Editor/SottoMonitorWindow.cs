// Memory, throughput and frame times of the engines in play mode.
using UnityEditor;
using UnityEngine;

namespace Sotto.Editor
{
    /// <summary>A window with a graph of the game's frames and the models' memory.</summary>
    public sealed class SottoMonitorWindow : EditorWindow
    {
        const int Samples = 240;
        const float MiB = 1 << 20;
        readonly float[] _frames = new float[Samples]; // p95 work of a frame, ms
        readonly float[] _memory = new float[Samples]; // bytes in use, MiB
        int _next;

        [MenuItem("Window/Sotto/Monitor")]
        static void Open() => GetWindow<SottoMonitorWindow>("Sotto Monitor");

        /// <summary>Adds one sample of an engine; called once an editor update.</summary>
        public void Sample(in SottoStats stats)
        {
            _frames[_next % Samples] = stats.FrameP95Ms;
            _memory[_next % Samples] = stats.BytesInUse / MiB;
            ++_next;
        }

        /// <summary>The largest of the samples of frame times.</summary>
        public float MaxFrameMs => Max(_frames);

        void OnGUI()
        {
            if (SottoRuntime.All.Count == 0 || SottoRuntime.All[0].Engine == null)
            {
                EditorGUILayout.HelpBox("No engine runs. Press Play in a scene with a Sotto character.", MessageType.Info);
                return;
            }
            foreach (var runtime in SottoRuntime.All)
                if (runtime.Engine != null)
                    Draw(runtime.settings.name, runtime.Engine.Stats());
            Sample(SottoRuntime.All[0].Engine.Stats());
            Graph("frame work p95, ms", _frames, 33.3f, new Color(0.3f, 0.8f, 0.4f));
            Graph("models, MiB", _memory, Mathf.Max(1, Max(_memory)), new Color(0.4f, 0.6f, 0.9f));
        }

        void OnInspectorUpdate() => Repaint(); // ten times a second

        static void Draw(string name, in SottoStats stats)
        {
            EditorGUILayout.LabelField(name, EditorStyles.boldLabel);
            EditorGUILayout.LabelField("tokens/s", $"{stats.TokensPerSecond:0.0}, prefill {stats.PromptPerSecond:0}");
            EditorGUILayout.LabelField("answers", $"{stats.Decoding} decode, {stats.Prefilling} prefill, {stats.Waiting} wait");
            EditorGUILayout.LabelField("time to first token", $"{stats.TtftMeanMs:0} ms");
            EditorGUILayout.LabelField(
                "frames", $"p50 {stats.FrameP50Ms:0.0} ms, p99 {stats.FrameP99Ms:0.0} ms, missed {stats.FramesMissed}");
            var limit = stats.VramBudget > 0 ? $" of {stats.VramBudget / MiB:0}" : "";
            EditorGUILayout.LabelField(
                "memory", $"{stats.BytesInUse / MiB:0}{limit} MiB: weights {stats.BytesWeights / MiB:0}, "
                    + $"KV cache {stats.BytesKv / MiB:0}, compute {stats.BytesCompute / MiB:0}");
        }

        void Graph(string title, float[] values, float top, Color colour)
        {
            EditorGUILayout.LabelField(title);
            var area = GUILayoutUtility.GetRect(Samples, 60);
            EditorGUI.DrawRect(area, new Color(0.15f, 0.15f, 0.15f));
            var width = area.width / Samples;
            for (var i = 0; i < Samples; ++i)
            {
                var height = area.height * Mathf.Clamp01(values[(_next + i) % Samples] / top);
                EditorGUI.DrawRect(new Rect(area.x + i * width, area.yMax - height, width, height), colour);
            }
        }

        static float Max(float[] values)
        {
            var max = 0f;
            foreach (var value in values)
                max = Mathf.Max(max, value);
            return max;
        }
    }
}
