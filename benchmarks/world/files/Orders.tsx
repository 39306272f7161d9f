import { useEffect, useState } from "react";

type Props = {
  title: string;
  onOpen?: (number: number) => void;
};

export function Orders({ title, onOpen }: Props) {
  const [orders, setOrders] = useState<Order[]>([]);

  useEffect(() => {
    // asks once
    fetch("/orders")
      .then((answer) => answer.json())
      .then(setOrders);
  }, []);

  if (!orders.length) {
    return <p>none</p>;
  }

  return (
    <section
      className="orders"
      aria-label={title}
    >
      <h1>{title}</h1>
      {orders.map((order) => (
        <button
          key={order.number}
          onClick={() => onOpen?.(order.number)}
        >
          {order.state}
        </button>
      ))}
      {/* a comment
          of two lines */}
      <style>{`
        .orders {
          margin: 0;
        }
      `}</style>
    </section>
  );
}

interface Order {
  number: number;
  state: string;
}
