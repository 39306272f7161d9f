CREATE OR REPLACE FUNCTION touch() RETURNS trigger AS $$
DECLARE
    moment timestamp;
BEGIN
    moment := now();
    IF NEW.state <> OLD.state THEN
        NEW.changed_at := moment;
    END IF;
    RETURN NEW;
END;
$$ LANGUAGE plpgsql;

CREATE TRIGGER orders_touch
BEFORE UPDATE ON orders
FOR EACH ROW EXECUTE FUNCTION touch();

CREATE VIEW open_orders AS
SELECT number,
       customer,
       note
FROM orders
WHERE state = 'open';

GRANT SELECT ON open_orders TO reader;
