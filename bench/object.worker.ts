/**
 * Runs inside workerd: times `take` of the Durable Object, of a store in memory, and the bare writes of the same rows.
 */

import { Flag, type TakeRequest } from "../src/kernel/core/take.ts";
import { HeadgateCounts } from "../src/kernel/store/durable-object.ts";
import { memoryStore } from "../src/kernel/store/memory.ts";
import type { ObjectCase, ObjectTurn } from "./support/object-case.ts";

/** A statement as the object has given it to SQLite. */
interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

type TakeArguments = [request: TakeRequest, nowMs?: number];
type Requests = () => TakeArguments;

export class Counts extends HeadgateCounts {
  readonly #memory = memoryStore();

  /** Fills the keys of a case, then times it. Every case has an object of its own. */
  async run(one: ObjectCase): Promise<ObjectTurn[]> {
    // Each part asks about the same keys at the same instants.
    const [forObject, forMemory] = [requestsOf(one), requestsOf(one)];
    for (let i = 0; i < one.fill; i++) {
      await this.take(...forObject());
      await this.#memory.take(...forMemory());
    }
    const turns: ObjectTurn[] = [];
    for (let turn = 0; turn < one.turns; turn++) turns.push(await this.#turn(one, forObject, forMemory));
    return turns;
  }

  /** All parts do the same work, one directly after the other: a busy moment of the machine slows all of them. */
  async #turn({ takes, isDurable, keys }: ObjectCase, forObject: Requests, forMemory: Requests): Promise<ObjectTurn> {
    const { storage } = this.ctx;
    const each = async (work: (i: number) => unknown) => {
      await storage.sync();
      const start = performance.now();
      for (let i = 0; i < takes; i++) {
        await work(i);
        if (isDurable) await storage.sync();
      }
      await storage.sync();
      return (1_000 * (performance.now() - start)) / takes;
    };
    const objectUs = await each(() => this.take(...forObject()));
    const memoryUs = await each(() => this.#memory.take(...forMemory()));
    const written: (readonly Statement[])[] = [];
    for (let i = 0; i < takes; i++) written.push(await this.#writesOf(...forObject()));
    if (keys === "new") storage.sql.exec("DELETE FROM counts");
    // Otherwise SQLite would write nothing: the rows would have these bytes already.
    else for (let i = 0; i < keys; i++) await this.take(...forObject());
    const write = (i: number) => {
      for (const { text, values } of written[i]!) storage.sql.exec(text, ...values);
    };
    // Several rows are written all or none, as the object writes them.
    const writeUs = await each((i) => (written[i]!.length > 1 ? storage.transactionSync(() => write(i)) : write(i)));
    return { objectUs, memoryUs, writeUs };
  }

  /** Makes a take, and returns the statements by which the object has written. */
  async #writesOf(...args: TakeArguments): Promise<readonly Statement[]> {
    const prototype = Object.getPrototypeOf(this.ctx.storage.sql) as SqlStorage;
    const { exec } = prototype;
    const all: Statement[] = [];
    prototype.exec = function (this: SqlStorage, text: string, ...values: unknown[]) {
      if (!text.startsWith("SELECT")) all.push({ text, values });
      return exec.call(this, text, ...values);
    } as typeof exec;
    try {
      await this.take(...args);
    } finally {
      prototype.exec = exec;
    }
    return all;
  }
}

/** The requests of a case, one after the other. */
function requestsOf({ limits, keys, stepMs }: ObjectCase): Requests {
  const startMs = Date.now();
  let n = 0;
  return () => {
    const i = n++;
    const key = `hg:2:{default:${String(keys === "new" ? i : i % keys).padStart(22, "0")}}`;
    const request = { keys: [{ key, group: 0, cost: 1, limits }], flag: Flag.take, slot: i % 5 };
    return stepMs === undefined ? [request] : [request, startMs + i * stepMs];
  };
}

export default {
  async fetch(request: Request, { COUNTS }: { readonly COUNTS: DurableObjectNamespace<Counts> }): Promise<Response> {
    return Response.json(await COUNTS.get(COUNTS.newUniqueId()).run(await request.json()));
  },
};
