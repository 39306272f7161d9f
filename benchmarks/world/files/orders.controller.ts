import { Body, Controller, Get, Post } from "@nest/common";
import type { Order, State } from "./order";

export enum Level {
  Low,
  High,
}

export interface Page<T> {
  items: T[];
  next?: string;
}

type Answer =
  | { kind: "order"; order: Order }
  | { kind: "none" };

@Controller("orders")
export class OrdersController {
  private readonly seen = new Map<number, Order>();

  constructor(
    private readonly store: Store,
    private readonly limit = 50,
  ) {}

  // one page
  @Get()
  async list(): Promise<Page<Order>> {
    const items = await this.store.find({
      state: "open",
      limit: this.limit,
    });
    return { items };
  }

  @Post("pay")
  @HttpCode(204)
  pay(@Body() body: { number: number }): void {
    const order = this.seen.get(body.number);
    if (!order) {
      throw new Error(`no order ${body.number}`);
    } else {
      order.state = "paid" as State;
    }
  }
}

declare module "./order" {
  interface Order {
    late: boolean;
  }
}

export const isOpen = (answer: Answer): boolean =>
  answer.kind === "order" && answer.order.state === "open";
