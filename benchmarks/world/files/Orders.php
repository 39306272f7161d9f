<?php

declare(strict_types=1);

namespace Shop;

use InvalidArgumentException;

/**
 * Reads orders.
 */
#[Service]
final class Orders implements \Countable
{
    private const LIMITS = [
        'small' => 4,
        'large' => 64,
    ];

    public function __construct(
        private readonly array $all = [],
        private ?string $name = null,
    ) {
    }

    #[\Override]
    public function count(): int
    {
        return \count($this->all);
    }

    public function help(): string
    {
        return <<<TEXT
        usage: orders
        // no comment
        TEXT;
    }

    public function price(string $state): int
    {
        if ($state === 'open') {
            return 1;
        } elseif ($state === 'paid') {
            return 2;
        }
        throw new InvalidArgumentException(
            "unknown state $state"
        );
    }
}
?>
<h1>Orders</h1>
<?php foreach ($orders as $order): ?>
  <p><?= $order->number ?></p>
<?php endforeach; ?>
<footer>
  <p>2026</p>
</footer>
