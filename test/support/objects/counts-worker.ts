// A Durable Object in workerd, as a store that tests in Node can ask.

import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { type Store, StoreError, type StoreErrorCode } from "../../../src/kernel/store/store.ts";
import { startWorkerd } from "../gateway/workerd.ts";
import { batched } from "../redis/batched.ts";

export interface CountsWorker {
  /** Calls that are made at once are one request to the Worker, which makes them at once. */
  readonly store: Store;
  /** For `describeStore`: changes the text of a row. Before the next take the object stops, and then reads it again. */
  damage(key: string, change: (text: string) => string): Promise<void>;
  /** Where the Worker listens: it takes a list of calls, and gives a list of answers. */
  readonly url: string;
  /** The id of workerd's process. */
  readonly pid: number;
  stop(): Promise<void>;
}

interface Answer {
  readonly reply?: unknown;
  readonly code?: StoreErrorCode;
}

let bundled: Promise<string> | undefined;

/** @param objects a folder in which counts survive a stop; absent: they are gone then. */
export async function startCountsWorker(objects?: string): Promise<CountsWorker> {
  bundled ??= bundleWorker("counts-worker.ts");
  const { port, pid, stop } = await startWorkerd([{ name: "counts", code: await bundled, counts: true }], { objects });
  const url = `http://127.0.0.1:${port}/`;

  const ask = batched(async (calls: readonly object[]) => {
    const answer = await fetch(url, { method: "POST", body: JSON.stringify(calls) });
    return (await answer.json()) as Answer[];
  });
  async function call<T>(method: string, ...args: unknown[]): Promise<T> {
    const { reply, code } = await ask({ method, args });
    if (code !== undefined) throw new StoreError(code);
    return reply as T;
  }

  let isDamaged = false;

  return {
    async damage(key, change) {
      isDamaged = true;
      const text = await call<string | null>("textOf", key);
      if (text !== null) await call("overwrite", key, change(text));
    },
    store: {
      kind: "durable-object",
      keySecret: "not of interest",
      async take(request, nowMs) {
        if (isDamaged) await call("stop");
        isDamaged = false;
        return await call("take", request, nowMs);
      },
      reset: (keys) => call("reset", keys),
      ping: () => call("ping"),
    },
    url,
    pid,
    stop,
  };
}

/** A Worker of test/worker, in one module. */
export async function bundleWorker(name: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`../../worker/${name}`, import.meta.url))],
    bundle: true,
    format: "esm",
    target: "es2024",
    external: ["cloudflare:*"],
    write: false,
  });
  return outputFiles[0]!.text;
}
