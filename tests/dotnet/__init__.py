"""A C# compiler and runtimes for the tests."""
