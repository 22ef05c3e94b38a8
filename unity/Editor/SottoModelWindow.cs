// Lists the models of the settings, plans them against the budget, and downloads files.
using System.IO;
using UnityEditor;
using UnityEngine;

namespace Sotto.Editor
{
    /// <summary>The model window.</summary>
    public sealed class SottoModelWindow : EditorWindow
    {
        SottoSettings _settings;
        SottoEngine _engine; // of the plan under way; loads nothing
        SottoAnswer _plan;
        SottoModelPull _pull;
        string _url = "", _sha256 = "", _message = "";

        [MenuItem("Window/Sotto/Models")]
        static void Open() => GetWindow<SottoModelWindow>("Sotto Models");

        /// <summary>The result of the last plan or download.</summary>
        public string Message => _message;

        /// <summary>Starts to plan a model against the budget of the settings, without loading it.</summary>
        public void Plan(SottoSettings settings, SottoModelEntry entry)
        {
            _message = "planning " + entry.id;
            EndPlan();
            try
            {
                _engine = settings.CreateEngine();
                _plan = _engine.PlanModelAsync(entry.ToModel(SottoFiles.PathOf(entry.file)));
            }
            catch (SottoException problem)
            {
                _message = problem.Message;
            }
        }

        /// <summary>Completes plans and downloads; called by the editor many times a second.</summary>
        public void Update()
        {
            if (_plan != null)
            {
                _engine.Drain();
                if (_plan.IsDone)
                {
                    _message = _plan.Status < 0 ? _plan.Error : Describe(_plan.Json);
                    EndPlan();
                    Repaint();
                }
            }
            if (_pull == null)
                return;
            _pull.Update();
            if (_pull.IsDone)
            {
                _message = _pull.Error.Length > 0 ? _pull.Error : "downloaded, and its SHA-256 is right";
                _pull = null;
            }
            Repaint();
        }

        void OnDisable()
        {
            EndPlan();
            _pull?.Dispose();
            _pull = null;
        }

        void EndPlan()
        {
            _engine?.Dispose();
            _engine = null;
            _plan = null;
        }

        void OnGUI()
        {
            if (_settings == null)
                _settings = SottoSettings.Default;
            EditorGUILayout.LabelField("Models of " + _settings.name, EditorStyles.boldLabel);
            var house = new SottoModelEntry { id = SottoSettings.House };
            DrawModel(house);
            foreach (var entry in _settings.models)
                DrawModel(entry);
            DrawPull();
            if (_message.Length > 0)
                EditorGUILayout.HelpBox(_message, MessageType.Info);
        }

        void DrawModel(SottoModelEntry entry)
        {
            EditorGUILayout.BeginHorizontal();
            EditorGUILayout.LabelField(entry.id, entry.file.Length > 0 ? Size(SottoFiles.PathOf(entry.file)) : "bundled");
            if (GUILayout.Button("Plan") && _plan == null)
                Plan(_settings, entry);
            EditorGUILayout.EndHorizontal();
        }

        void DrawPull()
        {
            EditorGUILayout.Space();
            EditorGUILayout.LabelField("Download a GGUF file", EditorStyles.boldLabel);
            if (_pull != null)
            {
                EditorGUI.ProgressBar(GUILayoutUtility.GetRect(200, 18), _pull.Progress, _url);
                if (!GUILayout.Button("Stop"))
                    return;
                _pull.Dispose();
                _pull = null;
                return;
            }
            _url = EditorGUILayout.TextField("Address", _url);
            _sha256 = EditorGUILayout.TextField("SHA-256", _sha256);
            if (GUILayout.Button("Download"))
                Pull();
        }

        void Pull()
        {
            try
            {
                _pull = new SottoModelPull(_url, SottoFiles.PathOf(SottoModelPull.FileNameOf(_url)), _sha256);
            }
            catch (System.Exception problem) when (
                problem is System.ArgumentException || problem is System.FormatException || problem is IOException
                || problem is System.UnauthorizedAccessException)
            {
                _message = problem.Message;
            }
        }

        static string Describe(string json)
        {
            var fits = SottoJson.Field(json, "fits", out _) == "true";
            return fits
                ? $"fits: {SottoJson.Field(json, "rung", out _)}"
                : $"does not fit: {SottoJson.Field(json, "reason", out _)}";
        }

        static string Size(string path) =>
            File.Exists(path) ? $"{new FileInfo(path).Length / (1024.0 * 1024):0.0} MiB" : "file is missing";
    }
}
