package org.example.shop;

import java.util.ArrayList;
import java.util.List;

/**
 * Reads orders.
 *
 * <p>It writes none.
 */
@Service
@Transactional(readOnly = true)
public class Orders implements AutoCloseable {
  private static final String HELP =
      """
      usage: orders
      // no comment
      """;

  private final List<Order> all = new ArrayList<>();

  @Autowired
  public Orders(Store store) {
    all.addAll(store.find());
  }

  @Override
  @Deprecated
  public void close() {
    all.clear();
  }

  public List<Order> open() {
    return all.stream()
        .filter(order -> order.state() == State.OPEN)
        .toList();
  }

  public int price(Order order) {
    try {
      switch (order.state()) {
        case OPEN:
        case PAID:
          return order.number();
        default:
          return 0;
      }
    } catch (IllegalStateException error) {
      throw new IllegalArgumentException(HELP, error);
    } finally {
      close();
    }
  }

  enum State {
    OPEN,
    PAID
  }

  record Order(int number, State state) {}
}
