// Stand-ins for UnityEngine's events. As in Unity, a listener that throws ends the call.
using System.Collections.Generic;

namespace UnityEngine.Events
{
    public delegate void UnityAction<T0>(T0 arg0);

    public abstract class UnityEventBase
    {
    }

    public class UnityEvent<T0> : UnityEventBase
    {
        readonly List<UnityAction<T0>> _calls = new List<UnityAction<T0>>();

        public void AddListener(UnityAction<T0> call) => _calls.Add(call);
        public void RemoveListener(UnityAction<T0> call) => _calls.Remove(call);

        public void Invoke(T0 arg0)
        {
            foreach (var call in _calls.ToArray())
                call(arg0);
        }
    }
}
