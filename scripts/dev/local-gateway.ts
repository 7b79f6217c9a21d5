/** The bundled Worker in workerd on this machine: one isolate, with the bindings that a script gives. */

import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare, type V4MiniflareOptions } from "miniflare";
import { parse } from "smol-toml";

export interface LocalGateway {
  readonly url: URL;
  /** A request of a client with this address. */
  send(path: string, address: string): Promise<SentAnswer>;
  stop(): Promise<void>;
}

type SentAnswer = Awaited<ReturnType<Miniflare["dispatchFetch"]>>;

interface LocalOptions {
  /**
   * Gets its log lines and the runtime's lines about uncaught exceptions, which begin with "uncaught exception".
   * Absent: these lines are dropped.
   */
  readonly onLog?: (line: string) => void;
  /** With the console's files and the Durable Objects of the counts and the metrics. */
  readonly withConsole?: true;
}

const OBJECTS = {
  COUNTS: { className: "HeadgateCounts", useSQLite: true },
  STATS: { className: "HeadgateStats", useSQLite: true },
};

/** As wrangler.toml has it. */
const ASSETS = {
  binding: "ASSETS",
  directory: new URL("../../console/dist", import.meta.url).pathname,
  routerConfig: { invoke_user_worker_ahead_of_assets: true, has_user_worker: true },
  assetConfig: { html_handling: "none", not_found_handling: "none" },
};

/** Also reports a rejected promise that nobody awaited, which the Worker alone would lose. */
const ENTRY = `
import worker from "./src/worker.ts";
addEventListener("unhandledrejection", ({ reason }) => console.error("uncaught exception; source = unhandled; " + reason));
export * from "./src/worker.ts";
export default worker;`;

let bundled: Promise<string> | undefined;

async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: ENTRY, resolveDir: new URL("../..", import.meta.url).pathname },
    bundle: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*"],
    write: false,
  });
  return outputFiles[0]!.text;
}

/** Resolves when the gateway answers. All gateways of a process have the code of the first one. */
export async function startLocalGateway(
  bindings: Readonly<Record<string, unknown>>,
  { onLog, withConsole }: LocalOptions = {},
): Promise<LocalGateway> {
  bundled ??= bundle();
  const toml = parse(readFileSync(new URL("../../wrangler.toml", import.meta.url), "utf8"));
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: [{ type: "ESModule", path: "worker.js", contents: await bundled }],
      compatibilityDate: toml.compatibility_date as string,
      compatibilityFlags: toml.compatibility_flags as string[],
      cf: false,
      verbose: onLog !== undefined,
      handleStructuredLogs: ({ message }: { message: string }) => onLog?.(message),
      bindings,
      ...(withConsole && { durableObjects: OBJECTS, assets: ASSETS }),
    } as V4MiniflareOptions),
  );
  const url = await miniflare.ready;
  return {
    url,
    send: (path, address) =>
      miniflare.dispatchFetch(new URL(path, url), {
        headers: { "CF-Connecting-IP": address },
        redirect: "manual",
      }),
    stop: () => miniflare.dispose(),
  };
}
