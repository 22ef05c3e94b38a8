// The engine's class without components.
using NUnit.Framework;
using Sotto.Interop;

namespace Sotto.Tests
{
    public sealed class EngineTests
    {
        [Test]
        public void LibraryFitsThePackage() => Assert.That(SottoEngine.Version, Is.EqualTo(Native.SOTTO_VERSION));

        [Test]
        public void AnswersAPrivateRequest()
        {
            using (var engine = new SottoEngine(SottoMode.PrioritizeCompute))
            {
                engine.WaitDone(engine.LoadModel(SottoSettings.House, flags: SottoFlags.Private));
                var ask = new SottoRequest(SottoSettings.House)
                {
                    MaxTokens = 24, Temperature = 0, Flags = SottoFlags.Private,
                }.System("Name: Mara\nRole: innkeeper\nPrices:\n- stew: 4 copper").User("How much is stew?");
                var last = engine.WaitDone(engine.Submit(ask));
                Assert.That(last.Json, Does.Contain("4 copper"));
            }
        }

        [Test]
        public void DisposesTwice()
        {
            var engine = new SottoEngine();
            engine.Dispose();
            engine.Dispose();
            Assert.Throws<SottoException>(() => engine.FrameBegin());
            Assert.That(engine.Drain(), Is.EqualTo(0));
        }

        [TestCase("plain")]
        [TestCase("\"quoted\" \\ \n\t\u0001")]
        [TestCase("夜の門番 🏰👩‍👩‍👧")]
        [TestCase("שלום, مرحبا؟")]
        public void KeepsText(string text)
        {
            var body = new SottoRequest("m").Set("t", text).ToString();
            Assert.That(SottoJson.Field(body, "t", out var complete), Is.EqualTo(text));
            Assert.That(complete, Is.True);
        }

        [Test]
        public void RefusesAnUnknownDevice()
        {
            var refused = Assert.Throws<SottoException>(() => new SottoEngine(device: "toaster"));
            Assert.That(refused.Status, Is.EqualTo(Native.SOTTO_ERROR_ARGUMENT));
        }
    }
}
