// Stand-ins for UnityEngine's objects: a destroyed object equals null, and destruction waits for the frame's end.
using System;
using System.Collections.Generic;
using Doubles;

namespace UnityEngine
{
    public class Object
    {
        static int _next = 1000;
        readonly int _id = _next += 2;
        internal bool Gone;

        public string name { get; set; } = "";
        public HideFlags hideFlags { get; set; }

        public override int GetHashCode() => _id;
        public override bool Equals(object other) => other is Object that ? this == that : other == null && Gone;
        public override string ToString() => name;

        public static implicit operator bool(Object exists) => exists != null;
        public static bool operator !=(Object x, Object y) => !(x == y);

        public static bool operator ==(Object x, Object y)
        {
            bool xGone = x is null || x.Gone, yGone = y is null || y.Gone;
            return xGone || yGone ? xGone == yGone : ReferenceEquals(x, y);
        }

        public static void Destroy(Object obj) => Player.DestroyLater(obj);
        public static void DestroyImmediate(Object obj) => Player.DestroyNow(obj);
        public static void DontDestroyOnLoad(Object target) => Player.Keep(target);
    }

    [Flags]
    public enum HideFlags
    {
        None = 0,
        HideInHierarchy = 1,
        HideInInspector = 2,
        DontSave = 52,
        HideAndDontSave = 61,
    }

    public class ScriptableObject : Object
    {
        public static T CreateInstance<T>() where T : ScriptableObject => Activator.CreateInstance<T>();
    }

    public class Component : Object
    {
        internal GameObject Owner;

        public GameObject gameObject => Owner;
        public Transform transform => Owner.transform;

        public T GetComponent<T>() => Owner.GetComponent<T>();
    }

    public class Behaviour : Component
    {
        bool _enabled = true;

        public bool enabled
        {
            get => _enabled;
            set
            {
                _enabled = value;
                Player.Refresh(this);
            }
        }

        public bool isActiveAndEnabled => _enabled && Owner != null && Owner.activeInHierarchy;
    }

    public class Transform : Component
    {
        protected internal Transform()
        {
        }

        public Vector3 position { get; set; }
        public Vector3 localScale { get; set; } = new Vector3(1, 1, 1);
        public Transform parent { get; set; }

        public void SetParent(Transform p) => parent = p;
    }

    public sealed class GameObject : Object
    {
        internal readonly List<Component> Components = new List<Component>();
        bool _active = true;

        public GameObject() : this("New Game Object")
        {
        }

        public GameObject(string name)
        {
            this.name = name;
            transform = new Transform { Owner = this, name = name };
            Components.Add(transform);
            Player.Objects.Add(this);
        }

        public Transform transform { get; }
        public bool activeSelf => _active;
        public bool activeInHierarchy => _active && !Gone;

        public T AddComponent<T>() where T : Component
        {
            var made = Activator.CreateInstance<T>();
            made.Owner = this;
            made.name = name;
            Components.Add(made);
            Player.Added(made);
            return made;
        }

        public T GetComponent<T>()
        {
            foreach (var one in Components)
                if (one is T found && !one.Gone)
                    return found;
            return default;
        }

        public void SetActive(bool value)
        {
            _active = value;
            foreach (var one in Components.ToArray())
                Player.Refresh(one);
        }

        public static GameObject CreatePrimitive(PrimitiveType type) => new GameObject(type.ToString());
    }

    public enum PrimitiveType
    {
        Sphere,
        Capsule,
        Cylinder,
        Cube,
        Plane,
        Quad,
    }
}
