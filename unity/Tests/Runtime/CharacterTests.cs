// Characters in play mode, with the house model.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;
using NUnit.Framework;
using Sotto.Interop;
using UnityEngine;
using UnityEngine.TestTools;
using Object = UnityEngine.Object;

namespace Sotto.Tests
{
    public sealed class CharacterTests
    {
        const float Seconds = 30;
        SottoSettings _settings;

        [SetUp]
        public void SetUp()
        {
            _settings = ScriptableObject.CreateInstance<SottoSettings>();
            _settings.mode = SottoMode.PrioritizeCompute;
            _settings.targetTps = 0;
        }

        [TearDown]
        public void TearDown()
        {
            foreach (var one in new List<SottoRuntime>(SottoRuntime.All))
                Object.DestroyImmediate(one.gameObject);
        }

        [UnityTest]
        public IEnumerator AnswersFromItsSheet()
        {
            var mara = NewCharacter("Mara");
            string last = "", done = "";
            var sentences = new List<string>();
            mara.onText.AddListener(text => last = text);
            mara.onSentence.AddListener(sentences.Add);
            mara.onDone.AddListener(text => done = text);
            var answer = mara.SayAsync("How much is a bed for the night?");
            yield return Until(() => answer.IsDone);
            Assert.That(answer.Error, Is.Empty);
            Assert.That(done, Does.Contain("9 copper"));
            Assert.That(last, Is.EqualTo(done));
            Assert.That(string.Join(" ", sentences), Is.EqualTo(done));
            Object.DestroyImmediate(mara.gameObject);
        }

        [UnityTest]
        public IEnumerator DecidesInItsForm()
        {
            var mara = NewCharacter("Mara");
            mara.enabled = false;
            mara.sheet.decides = true;
            mara.enabled = true; // opens a conversation with the new sheet
            var decision = "";
            mara.onDecision.AddListener(json => decision = json);
            var answer = mara.SayAsync("How much is a bed for the night?");
            yield return Until(() => answer.IsDone);
            Assert.That(SottoJson.Field(decision, "say", out var complete), Is.EqualTo(mara.Spoken));
            Assert.That(complete, Is.True);
            Assert.That(SottoSheet.Moods, Does.Contain(SottoJson.Field(decision, "emotion", out _)));
            Object.DestroyImmediate(mara.gameObject);
        }

        [UnityTest]
        public IEnumerator FourSpeakAtOnce()
        {
            var all = new List<SottoCharacter>();
            var answers = new List<SottoAnswer>();
            foreach (var name in new[] { "Mara", "Odo", "Pip", "Tobin" })
                all.Add(NewCharacter(name));
            foreach (var one in all)
                answers.Add(one.SayAsync("Who are you?"));
            yield return Until(() => answers.TrueForAll(answer => answer.IsDone));
            for (var i = 0; i < all.Count; ++i)
                Assert.That(answers[i].Text, Is.Not.Empty, answers[i].Error);
            Assert.That(SottoRuntime.All.Count, Is.EqualTo(1));
            all.ForEach(one => Object.DestroyImmediate(one.gameObject));
        }

        [UnityTest]
        public IEnumerator DestroyedMidStreamCancels()
        {
            var mara = NewCharacter("Mara");
            mara.maxTokens = 0;
            var answer = mara.SayAsync("Tell me everything that you know!");
            var awaited = Continue(answer);
            yield return Until(() => answer.Tokens > 0);
            Object.DestroyImmediate(mara.gameObject);
            yield return Until(() => awaited.IsCompleted);
            Assert.That(awaited.IsCanceled || awaited.IsCompleted, Is.True);
            Assert.That(mara == null, Is.True);
            Assert.That(answer.IsDone, Is.True);
        }

        [UnityTest]
        public IEnumerator MissingModelFailsWithTheWayOut()
        {
            _settings.defaultModel = "gone";
            _settings.models.Add(new SottoModelEntry { id = "gone", file = "gone.gguf" });
            LogAssert.Expect(LogType.Error, new Regex("gone.gguf.*StreamingAssets"));
            var mara = NewCharacter("Mara");
            var failure = "";
            mara.onFailed.AddListener(error => failure = error);
            mara.Say("Hello!");
            yield return Until(() => failure.Length > 0);
            Assert.That(failure, Does.Contain("StreamingAssets"));
            Object.DestroyImmediate(mara.gameObject);
        }

        [UnityTest]
        public IEnumerator CancelledByToken()
        {
            var mara = NewCharacter("Mara");
            using (var source = new CancellationTokenSource())
            {
                var awaited = Continue(mara.SayAsync("Hello!", source.Token));
                source.Cancel();
                yield return Until(() => awaited.IsCompleted);
                Assert.That(awaited.IsCanceled, Is.True);
            }
            Object.DestroyImmediate(mara.gameObject);
        }

        [UnityTest]
        public IEnumerator RefusesOtherThreads()
        {
            var mara = NewCharacter("Mara");
            Exception thrown = null;
            var thread = new Thread(() => thrown = Assert.Throws<SottoException>(() => mara.SayAsync("Hello!")));
            thread.Start();
            thread.Join();
            Assert.That(thrown.Message, Does.Contain("main thread"));
            yield return null;
            Object.DestroyImmediate(mara.gameObject);
        }

        SottoCharacter NewCharacter(string name)
        {
            var sheet = ScriptableObject.CreateInstance<SottoSheet>();
            sheet.fullName = name;
            sheet.role = "innkeeper";
            sheet.manner = "cheerful";
            sheet.prices.Add("a bed for the night: 9 copper");
            var thing = new GameObject(name);
            thing.SetActive(false);
            var character = thing.AddComponent<SottoCharacter>();
            character.settings = _settings;
            character.sheet = sheet;
            character.temperature = 0;
            thing.SetActive(true);
            return character;
        }

        static async Task<string> Continue(SottoAnswer answer) => await answer;

        // Frames until a condition holds; fails after some seconds.
        static IEnumerator Until(Func<bool> holds)
        {
            var end = Time.realtimeSinceStartup + Seconds;
            while (!holds())
            {
                Assert.That(Time.realtimeSinceStartup, Is.LessThan(end), "took too long");
                yield return null;
            }
        }
    }
}
