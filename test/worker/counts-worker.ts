// A Worker that test/support/objects/counts-worker.ts bundles: it makes calls of a store, so that tests in Node can ask
// a Durable Object as a Worker does. All calls of a request are made at once.

import { durableObjectPlace } from "../../src/store/durable-object-place.ts";
import type { StoreError } from "../../src/store/store.ts";

export { HeadgateCounts } from "../../src/store/durable-object.ts";

interface Call {
  readonly method: "take" | "reset" | "ping";
  /** JSON has no `undefined`: null stands for it. */
  readonly args: readonly unknown[];
}

export default {
  async fetch(request: Request, env: { readonly COUNTS: DurableObjectNamespace }): Promise<Response> {
    const place = durableObjectPlace(env.COUNTS) as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const make = async ({ method, args }: Call) => {
      try {
        return { reply: await place[method]!(...args.map((arg) => arg ?? undefined)) };
      } catch (error) {
        return { code: (error as StoreError).code };
      }
    };
    return Response.json(await Promise.all(((await request.json()) as Call[]).map(make)));
  },
};
