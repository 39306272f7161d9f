using System;
using System.Collections.Generic;
using System.Linq;

namespace Shop;

/// <summary>
/// Reads orders.
/// </summary>
[Serializable]
public sealed class Orders : IDisposable
{
    private const string Help = @"usage: orders
// no comment
";

    private readonly List<Order> _all = new();

    public int Count => _all.Count;

    [Obsolete("use Open")]
    public IEnumerable<Order> Find(State state = State.Open)
    {
        return _all
            .Where(order => order.State == state)
            .ToList();
    }

    #region closing
    public void Dispose()
    {
        foreach (var order in _all)
        {
            if (order is { Number: > 10 })
            {
                Console.WriteLine($"large {order.Number}");
            }
            else
            {
                Console.WriteLine(Help);
            }
        }
    }
    #endregion
}

public enum State
{
    Open,
    Paid,
}

public record Order(int Number, State State);
