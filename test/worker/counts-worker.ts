// A Worker that test/support/objects/counts-worker.ts bundles: it makes calls of a store, so that tests in Node can ask
// a Durable Object as a Worker does. All calls of a request are made at once.

import { HeadgateCounts as RealCounts } from "../../src/kernel/store/durable-object.ts";
import { durableObjectPlace, shardName } from "../../src/kernel/store/durable-object-place.ts";
import type { StoreError } from "../../src/kernel/store/store.ts";

/** The real object, with a way to damage its rows. */
export class HeadgateCounts extends RealCounts {
  async textOf(key: string): Promise<string | null> {
    const rows = this.ctx.storage.sql.exec<{ text: string }>("SELECT text FROM counts WHERE key = ?", key).toArray();
    return rows[0]?.text ?? null;
  }

  async overwrite(key: string, text: string): Promise<void> {
    this.ctx.storage.sql.exec("UPDATE counts SET text = ? WHERE key = ?", text, key);
  }

  /** Stops the object: it starts anew, and knows nothing but its rows. */
  async stop(): Promise<void> {
    await this.ctx.storage.sync();
    this.ctx.abort("stopped by a test");
  }

  /** Stops the object in the middle of its work: what is not durable yet is lost, and nobody may have been told it. */
  async crash(): Promise<void> {
    this.ctx.abort("crashed by a test");
  }
}

interface Call {
  readonly method: "take" | "reset" | "ping" | "textOf" | "overwrite" | "stop" | "crash";
  /** JSON has no `undefined`: null stands for it. */
  readonly args: readonly unknown[];
}

export default {
  async fetch(request: Request, env: { readonly COUNTS: DurableObjectNamespace<HeadgateCounts> }): Promise<Response> {
    const place = durableObjectPlace(env.COUNTS) as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const make = async ({ method, args }: Call) => {
      const object = env.COUNTS.getByName(shardName(0));
      if (method === "textOf") return { reply: await object.textOf(args[0] as string) };
      if (method === "overwrite") return { reply: await object.overwrite(args[0] as string, args[1] as string) };
      // The call ends with the object.
      if (method === "stop") return { reply: await object.stop().catch(() => {}) };
      if (method === "crash") return { reply: await object.crash().catch(() => {}) };
      try {
        return { reply: await place[method]!(...args.map((arg) => arg ?? undefined)) };
      } catch (error) {
        return { code: (error as StoreError).code };
      }
    };
    return Response.json(await Promise.all(((await request.json()) as Call[]).map(make)));
  },
};
