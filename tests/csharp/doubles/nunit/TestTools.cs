// Stand-ins for UnityEngine.TestTools: a test that runs over frames, and the log that it expects.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Text.RegularExpressions;
using Doubles;
using NUnit.Framework;
using NUnit.Framework.Interfaces;
using NUnit.Framework.Internal;
using NUnit.Framework.Internal.Builders;
using NUnit.Framework.Internal.Commands;

namespace UnityEngine.TestTools
{
    /// <summary>A test that yields: each step runs one frame of the stand-ins' player.</summary>
    [AttributeUsage(AttributeTargets.Method)]
    public class UnityTestAttribute : NUnitAttribute, ISimpleTestBuilder, IImplyFixture, IWrapTestMethod
    {
        TestMethod ISimpleTestBuilder.BuildFrom(IMethodInfo method, Test suite)
        {
            var result = new TestCaseParameters { ExpectedResult = null }; // a method that returns something
            return new NUnitTestCaseBuilder().BuildTestMethod(method, suite, result);
        }

        TestCommand ICommandWrapper.Wrap(TestCommand command) => new Frames(command.Test);

        sealed class Frames : TestCommand
        {
            public Frames(Test test) : base(test)
            {
            }

            public override TestResult Execute(TestExecutionContext context)
            {
                Run((IEnumerator)Test.Method.Invoke(context.TestObject, null));
                LogAssert.NoUnexpectedReceived();
                context.CurrentResult.SetResult(ResultState.Success);
                return context.CurrentResult;
            }

            static void Run(IEnumerator steps)
            {
                while (steps.MoveNext())
                {
                    if (steps.Current is IEnumerator inner)
                        Run(inner);
                    Player.Frame();
                    System.Threading.Thread.Sleep(1);
                }
            }
        }
    }

    public static class LogAssert
    {
        static readonly List<KeyValuePair<LogType, Regex>> Expected = new List<KeyValuePair<LogType, Regex>>();

        public static void Expect(LogType type, Regex message) =>
            Expected.Add(new KeyValuePair<LogType, Regex>(type, message));

        /// <summary>Fails for an error that was not expected, or an expected one that is missing.</summary>
        public static void NoUnexpectedReceived()
        {
            var left = Debug.Lines.FindAll(line => line.StartsWith("error") || line.StartsWith("exception"));
            foreach (var one in Expected.ToArray())
            {
                Expected.Remove(one);
                var at = left.FindIndex(line => line.StartsWith(one.Key.ToString().ToLowerInvariant()) && one.Value.IsMatch(line));
                Assert.That(at, Is.AtLeast(0), $"expected in the log: {one.Key} {one.Value}");
                left.RemoveAt(at);
            }
            Debug.Lines.Clear();
            Assert.That(left, Is.Empty, "unexpected in the log");
        }
    }
}
