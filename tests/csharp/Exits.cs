// A process that ends while another thread of it waits for events of an engine.
using System;
using System.Threading;
using Sotto;

static class Exits
{
    static void Main()
    {
        var engine = new SottoEngine(SottoMode.PrioritizeCompute);
        engine.WaitDone(engine.LoadModel("sotto/house", flags: SottoFlags.Private));
        new Thread(() => engine.Wait()) { IsBackground = true }.Start();
        Thread.Sleep(100);
        Environment.Exit(0);
    }
}
