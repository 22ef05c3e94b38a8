// The build step: what it refuses, what it places, what it removes again.
using System.Collections.Generic;
using System.IO;
using NUnit.Framework;
using Sotto.Editor;
using UnityEditor;
using UnityEngine;

namespace Sotto.Tests
{
    public sealed class BuildTests
    {
        string _root, _package, _assets;
        SottoSettings _settings;

        [SetUp]
        public void SetUp()
        {
            _root = Path.Combine(Path.GetTempPath(), "sotto-build-" + System.Guid.NewGuid());
            _package = Path.Combine(_root, "package");
            _assets = Path.Combine(_root, "Assets");
            Directory.CreateDirectory(_assets);
            _settings = ScriptableObject.CreateInstance<SottoSettings>();
            _settings.name = "Game";
        }

        [TearDown]
        public void TearDown() => Directory.Delete(_root, true);

        [TestCase(BuildTarget.StandaloneWindows64, "Windows/x86_64", "sotto.dll", "sotto_llama-x86-64-v2.dll")]
        [TestCase(BuildTarget.StandaloneLinux64, "Linux/x86_64", "libsotto.so", "sotto_llama-x86-64-v2.so")]
        [TestCase(BuildTarget.Android, "Android/arm64-v8a", "libsotto.so", "libsotto_llama-native.so")]
        public void AcceptsAWholeBuild(BuildTarget target, string folder, string library, string module)
        {
            Place(folder, library);
            Assert.That(Plan(target).Problems[0], Does.Contain("module"));
            Place(folder, module);
            Place(folder, "house.gguf");
            var plan = Plan(target);
            Assert.That(plan.Problems, Is.Empty);
            Assert.That(plan.Copies.Count, Is.EqualTo(1));
            Assert.That(plan.Copies[0].To, Is.EqualTo(Path.Combine(_assets, "StreamingAssets", "Sotto", "house.gguf")));
        }

        [TestCase(BuildTarget.StandaloneOSX)]
        [TestCase(BuildTarget.StandaloneWindows)]
        [TestCase(BuildTarget.iOS)]
        [TestCase(BuildTarget.WebGL)]
        public void RefusesOtherPlatforms(BuildTarget target) =>
            Assert.That(Plan(target).Problems[0], Does.Contain("no library for " + target));

        [Test]
        public void BuildsWithoutLibraryOnDemand()
        {
            _settings.buildWithoutLibrary = true;
            var plan = Plan(BuildTarget.WebGL);
            Assert.That(plan.Problems, Is.Empty);
            Assert.That(plan.Warnings[0], Does.Contain("silent"));
            Assert.That(Plan(BuildTarget.StandaloneLinux64).Problems, Is.Not.Empty);
        }

        [Test]
        public void RefusesWithoutLibrary() =>
            Assert.That(Plan(BuildTarget.StandaloneLinux64).Problems[0], Does.Contain("'libsotto.so' is missing"));

        [Test]
        public void TakesNoLibraryOfAnotherPlatform()
        {
            Place("Android/arm64-v8a", "libsotto.so");
            Assert.That(Plan(BuildTarget.StandaloneLinux64).Problems[0], Does.Contain("'libsotto.so' is missing"));
        }

        [Test]
        public void WarnsOfANativeModule()
        {
            Place("Linux/x86_64", "libsotto.so");
            Place("Linux/x86_64", "sotto_llama-native.so");
            Assert.That(Plan(BuildTarget.StandaloneLinux64).Warnings[0], Does.Contain("SOTTO_TIERS"));
        }

        [Test]
        public void RefusesWithoutModels()
        {
            _settings.models.Add(new SottoModelEntry { id = "npc", file = "npc.gguf" });
            _settings.models.Add(new SottoModelEntry { id = "far", file = "/home/me/far.gguf" });
            _settings.models.Add(new SottoModelEntry { file = "" });
            _settings.defaultModel = "other";
            var problems = string.Join("\n", Plan(BuildTarget.StandaloneLinux64).Problems);
            Assert.That(problems, Does.Contain("model 'npc' lacks its file"));
            Assert.That(problems, Does.Contain("model 'far' has the absolute path"));
            Assert.That(problems, Does.Contain("a model without an id"));
            Assert.That(problems, Does.Contain("default model 'other'"));
        }

        [Test]
        public void PlacesImportedModels()
        {
            Write(Path.Combine(_assets, "Models", "npc.gguf"));
            _settings.models.Add(new SottoModelEntry { id = "npc", file = "npc.gguf" });
            _settings.defaultModel = "npc";
            var copy = Plan(BuildTarget.StandaloneLinux64, "Assets/Models/npc.gguf").Copies[0];
            Assert.That(File.Exists(copy.From), Is.True);
            Assert.That(copy.To, Does.EndWith(Path.Combine("Sotto", "npc.gguf")));
            Write(copy.To);
            Assert.That(Plan(BuildTarget.StandaloneLinux64, "Assets/Models/npc.gguf").Copies, Is.Empty);
        }

        [Test]
        public void PlacesTheHouseModelWithoutSettings()
        {
            Place("Linux/x86_64", "libsotto.so");
            Place("Linux/x86_64", "sotto_llama-x86-64-v2.so");
            Place("Linux/x86_64", SottoFiles.HouseFile);
            var plan = new SottoBuildPlan(
                BuildTarget.StandaloneLinux64, _package, _assets, new List<SottoSettings>(), new string[0]);
            Assert.That(plan.Problems, Is.Empty);
            Assert.That(plan.Copies.Count, Is.EqualTo(1));
            Assert.That(File.Exists(plan.Copies[0].From), Is.True);
            Assert.That(plan.Copies[0].To, Does.EndWith(Path.Combine("StreamingAssets", "Sotto", SottoFiles.HouseFile)));
        }

        [TestCase("", true)]
        [TestCase("matting", false)]
        [TestCase("onnx", false)]
        public void PlacesTheMattingModelUnlessItIsLeftOut(string leftOut, bool isPlaced)
        {
            foreach (var file in new[]
            {
                "libsotto.so", "sotto_llama-x86-64-v2.so", "sotto_onnx.so", SottoFiles.HouseFile, SottoFiles.MattingFile,
            })
                Place("Linux/x86_64", file);
            if (leftOut.Length > 0)
                _settings.leaveOut.Add(leftOut);
            var plan = Plan(BuildTarget.StandaloneLinux64);
            Assert.That(plan.Problems, Is.Empty);
            Assert.That(plan.Copies.Exists(copy => copy.To.EndsWith(SottoFiles.MattingFile)), Is.EqualTo(isPlaced));
        }

        [Test]
        public void PlacesNoMattingModelWithoutItsModule()
        {
            Place("Linux/x86_64", "libsotto.so");
            Place("Linux/x86_64", "sotto_llama-x86-64-v2.so");
            Place("Linux/x86_64", SottoFiles.HouseFile);
            Place("Linux/x86_64", SottoFiles.MattingFile);
            Assert.That(Plan(BuildTarget.StandaloneLinux64).Copies.Count, Is.EqualTo(1));
        }

        [Test]
        public void RefusesToLeaveOutAnUnknownName()
        {
            _settings.leaveOut.Add("onyx");
            Assert.That(Plan(BuildTarget.StandaloneLinux64).Problems[0], Does.Contain("invalid Leave Out 'onyx'"));
        }

        [Test]
        public void WarnsOfAModelOfAnotherSize()
        {
            Write(Path.Combine(_assets, "Models", "npc.gguf"));
            var placed = Path.Combine(_assets, "StreamingAssets", "Sotto", "npc.gguf");
            Write(placed);
            _settings.models.Add(new SottoModelEntry { id = "npc", file = "npc.gguf" });
            _settings.defaultModel = "npc";
            Assert.That(Plan(BuildTarget.StandaloneLinux64, "Assets/Models/npc.gguf").Warnings, Is.Empty);
            File.WriteAllText(placed, "older");
            var warning = Plan(BuildTarget.StandaloneLinux64, "Assets/Models/npc.gguf").Warnings[0];
            Assert.That(warning, Does.Contain(placed).And.Contain(Path.Combine("Models", "npc.gguf")));
        }

        SottoBuildPlan Plan(BuildTarget target, params string[] imported) =>
            new SottoBuildPlan(target, _package, _assets, new List<SottoSettings> { _settings }, imported);

        void Place(string folder, string file) => Write(Path.Combine(_package, "Plugins", folder, file));

        static void Write(string path)
        {
            Directory.CreateDirectory(Path.GetDirectoryName(path));
            File.WriteAllText(path, "x");
        }
    }
}
