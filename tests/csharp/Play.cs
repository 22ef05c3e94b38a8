// The game's side of Contexts.cs: the entry points of a collectible load context.

/// <summary>Begins a game in this context. The context may be unloaded without any further call.</summary>
public static class Play
{
    static Game _game;

    public static void Begin(string libraries)
    {
        _game = new Game(libraries);
        _game.BeginStreams();
    }

    public static void Stop() => _game.Dispose();
}
