"use strict";
/**
 * A pool of connections.
 * @param {number} size how many
 */
import { connect } from "./connect.js";

const HELP = `usage: pool
// no comment
${process.argv0}
`;

export const defaults = {
  size: 4,
  timeout: 30,
};

export class Pool {
  #free = [];
  static count = 0;

  constructor(options = {}) {
    this.options = { ...defaults, ...options };
    Pool.count += 1;
  }

  get size() {
    return this.#free.length;
  }

  async take() {
    for (const each of this.#free) {
      if (await each.alive()) {
        return each;
      }
    }
    try {
      return await connect(this.options.timeout);
    } catch (error) {
      console.error(error);
      throw new Error("none", { cause: error });
    } finally {
      console.log(HELP);
    }
  }
}

export default function main(name) {
  switch (name) {
    case "small":
    case "large":
      return new Pool({ size: 64 });
    default:
      return new Pool();
  }
}
