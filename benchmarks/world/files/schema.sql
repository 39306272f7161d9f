-- Orders and who made them.
CREATE TABLE customers (
    id integer PRIMARY KEY,
    name text NOT NULL,
    created_at timestamp DEFAULT now()
);

/* An order belongs to a customer.
   It is never deleted. */
CREATE TABLE orders (
    number integer PRIMARY KEY,
    customer integer NOT NULL REFERENCES customers (id),
    state text NOT NULL DEFAULT 'open',
    note text,
    CHECK (state IN ('open', 'paid', 'sent'))
);

CREATE INDEX orders_by_customer ON orders (customer);

INSERT INTO customers (id, name) VALUES
    (1, 'Ada'),
    (2, 'Grace'),
    (3, 'the one
with two lines');

SELECT c.name, count(*) AS orders
FROM customers AS c
JOIN orders AS o
  ON o.customer = c.id
WHERE o.state = 'open'
GROUP BY c.name
HAVING count(*) > 2
ORDER BY orders DESC;

UPDATE orders
SET state = 'sent'
WHERE number IN (
    SELECT number FROM orders WHERE state = 'paid'
);
