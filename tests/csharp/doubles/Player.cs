// Drives the stand-ins: frames in Unity's order, scene changes, quitting. Not part of Unity.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Diagnostics;
using System.Reflection;
using UnityEngine;
using Object = UnityEngine.Object;

namespace Doubles
{
    /// <summary>
    /// A player loop: FixedUpdate, Update, coroutines, LateUpdate, end of frame, destruction.
    /// </summary>
    public static class Player
    {
        internal static readonly List<GameObject> Objects = new List<GameObject>();
        internal static readonly Stopwatch Clock = Stopwatch.StartNew();
        static readonly Dictionary<string, MethodInfo> Messages = new Dictionary<string, MethodInfo>();
        static readonly List<Life> Lives = new List<Life>();
        static readonly List<Routine> Routines = new List<Routine>();
        static readonly List<Object> Doomed = new List<Object>();
        static readonly HashSet<GameObject> Kept = new HashSet<GameObject>();

        public static readonly Dictionary<string, Object> Assets = new Dictionary<string, Object>();
        public static bool IsPlaying = true;
        public static bool IsBatchMode;
        public static int FrameCount;
        public static string StreamingAssets = "";
        public static string PersistentData = "";
        public static string Data = "";
        public static string BuildGuid = "0123456789abcdef0123456789abcdef";
        public static RuntimePlatform Platform = RuntimePlatform.LinuxPlayer;
        public static UnityEngine.Rendering.GraphicsDeviceType GraphicsDevice =
            UnityEngine.Rendering.GraphicsDeviceType.Vulkan;

        public static List<string> Log => UnityEngine.Debug.Lines;

        sealed class Life
        {
            public Component Component;
            public int Order;
            public bool Awake;
            public bool Enabled;
            public bool Started;
        }

        sealed class Routine
        {
            public MonoBehaviour Owner;
            public IEnumerator Steps;
            public Coroutine Handle;
            public object Waits;
        }

        /// <summary>Runs one frame.</summary>
        public static void Frame()
        {
            ++FrameCount;
            All("FixedUpdate");
            All("Update");
            Resume(false);
            All("LateUpdate");
            Resume(true);
            var doomed = Doomed.ToArray();
            Doomed.Clear(); // what OnDestroy destroys goes in the next frame
            foreach (var one in doomed)
                DestroyNow(one);
        }

        /// <summary>Runs frames until a condition holds. False: it never did.</summary>
        public static bool FramesUntil(Func<bool> holds, int seconds = 20)
        {
            var end = Clock.Elapsed + TimeSpan.FromSeconds(seconds);
            for (; !holds(); System.Threading.Thread.Sleep(2))
            {
                Frame();
                if (Clock.Elapsed > end)
                    return false;
            }
            return true;
        }

        /// <summary>Ends the scene: destroys what is not kept.</summary>
        public static void LoadScene()
        {
            foreach (var one in Objects.ToArray())
                if (!Kept.Contains(one))
                    DestroyNow(one);
        }

        /// <summary>Quits as Unity does: messages, the event, then destruction.</summary>
        public static void Quit()
        {
            All("OnApplicationQuit");
            Application.RaiseQuitting();
            Reset();
        }

        /// <summary>Destroys everything.</summary>
        public static void Reset()
        {
            foreach (var one in Objects.ToArray())
                DestroyNow(one);
            Objects.Clear();
            Routines.Clear();
            Kept.Clear();
            Doomed.Clear();
            Log.Clear();
        }

        internal static void Keep(Object target)
        {
            if (target is GameObject whole)
                Kept.Add(whole);
            else if (target is Component part)
                Kept.Add(part.gameObject);
        }

        internal static void Added(Component made)
        {
            var order = (DefaultExecutionOrder)Attribute.GetCustomAttribute(
                made.GetType(), typeof(DefaultExecutionOrder));
            var life = new Life { Component = made, Order = order?.order ?? 0 };
            var at = Lives.FindIndex(one => one.Order > life.Order);
            Lives.Insert(at < 0 ? Lives.Count : at, life);
            Refresh(made);
        }

        internal static void Refresh(Component component)
        {
            var life = Lives.Find(one => ReferenceEquals(one.Component, component));
            if (life == null || component.Gone)
                return;
            if (!life.Awake && component.gameObject.activeInHierarchy)
            {
                life.Awake = true;
                Send(component, "Awake");
            }
            var on = component is Behaviour behaviour && behaviour.isActiveAndEnabled;
            if (on == life.Enabled || !life.Awake)
                return;
            life.Enabled = on;
            Send(component, on ? "OnEnable" : "OnDisable");
        }

        internal static void DestroyLater(Object doomed)
        {
            if (!(doomed is null))
                Doomed.Add(doomed);
        }

        internal static void DestroyNow(Object doomed)
        {
            if (doomed is null || doomed.Gone)
                return;
            if (doomed is GameObject whole)
            {
                foreach (var part in whole.Components.ToArray())
                    DestroyNow(part);
                Objects.Remove(whole);
            }
            else if (doomed is Component part)
                End(part);
            doomed.Gone = true;
        }

        internal static Coroutine Start(MonoBehaviour owner, IEnumerator steps)
        {
            var routine = new Routine { Owner = owner, Steps = steps, Handle = new Coroutine() };
            Routines.Add(routine);
            Step(routine);
            return routine.Handle;
        }

        internal static void StopCoroutines(MonoBehaviour owner) =>
            Routines.RemoveAll(one => ReferenceEquals(one.Owner, owner));

        static void End(Component part)
        {
            var life = Lives.Find(one => ReferenceEquals(one.Component, part));
            if (life == null)
                return;
            Lives.Remove(life);
            if (life.Enabled)
                Send(part, "OnDisable");
            if (life.Awake)
                Send(part, "OnDestroy");
            if (part is MonoBehaviour owner)
                StopCoroutines(owner);
        }

        static void All(string message)
        {
            foreach (var life in Lives.ToArray())
            {
                if (!life.Enabled || life.Component.Gone)
                    continue;
                if (message == "Update" && !life.Started)
                {
                    life.Started = true;
                    Send(life.Component, "Start");
                }
                Send(life.Component, message);
            }
        }

        static void Resume(bool endOfFrame)
        {
            foreach (var routine in Routines.ToArray())
                if (routine.Waits is WaitForEndOfFrame == endOfFrame && !IsWaiting(routine.Waits))
                    Step(routine);
        }

        static bool IsWaiting(object reason) =>
            reason is AsyncOperation work && !work.isDone || reason is Coroutine inner && !inner.IsDone;

        static void Step(Routine routine)
        {
            var more = false;
            try
            {
                more = routine.Steps.MoveNext();
            }
            catch (Exception thrown)
            {
                UnityEngine.Debug.LogException(thrown);
            }
            routine.Waits = more ? routine.Steps.Current : null;
            routine.Handle.IsDone = !more;
            if (!more)
                Routines.Remove(routine);
        }

        // As Unity does, logs what a message throws and goes on.
        static void Send(Component to, string message)
        {
            var method = Find(to.GetType(), message);
            if (method == null)
                return;
            try
            {
                ((Action)Delegate.CreateDelegate(typeof(Action), to, method))();
            }
            catch (Exception thrown)
            {
                UnityEngine.Debug.LogException(thrown);
            }
        }

        static MethodInfo Find(Type type, string message)
        {
            var key = type.FullName + "." + message;
            if (Messages.TryGetValue(key, out var known))
                return known;
            const BindingFlags any = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic
                | BindingFlags.DeclaredOnly;
            MethodInfo found = null;
            for (var at = type; at != null && at != typeof(MonoBehaviour) && found == null; at = at.BaseType)
                found = at.GetMethod(message, any, null, Type.EmptyTypes, null);
            return Messages[key] = found;
        }
    }
}
