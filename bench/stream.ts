/**
 * What a metered stream costs the gateway, in ms of CPU for each MiB: the same stream passes, in turns, through a
 * gateway without a meter. The provider is part of what is measured, and the same everywhere.
 *
 *   npm run bench:stream [-- --quick]
 *   npm run bench:stream -- --before ../clone   in turns with the same in another clone: before a change, and after
 */

import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { compare } from "./support/pair.ts";
import { markdownTable } from "./support/show.ts";
import { bundleWorker } from "./support/workerd.ts";

const { quick, before } = parseArgs({
  options: { quick: { type: "boolean", default: false }, before: { type: "string" } },
}).values;
const TURNS = quick ? { counted: 6, warmUp: 3, times: 2 } : { counted: 20, warmUp: 5, times: 3 };

/** Bytes of a chunk: an event, what a network carries at once, and what is buffered while a client is slow. */
const CHUNKS = [120, 1_400, 16_384];
const METERS = {
  "with a meter": { meter: { unit: "tokens" } },
  "with a meter that cuts": { meter: { unit: "tokens", onExceeded: "cut" } },
  "without a meter": {},
};

const bindingsOf = (policy: object) => ({
  POLICIES: [{ name: "chat", limits: [{ limit: 1_000_000_000, window: "1h" }], ...policy }],
});

const code = await bundleWorker("stream.mjs");
const other = before === undefined ? code : await bundleWorker("stream.mjs", pathToFileURL(`${before}/`));
const requests = CHUNKS.map((bytes) => ({
  path: `/${bytes}/chat/completions`,
  method: "POST",
  headers: { "CF-Connecting-IP": "198.51.100.1", "Content-Type": "application/json" },
  body: JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "four words to read." }] }),
  status: 200,
}));
const rows: string[][] = [];
for (const [title, policy] of Object.entries(METERS)) {
  if (before === undefined && title === "without a meter") continue;
  const first = { code: other, bindings: bindingsOf(before === undefined ? {} : policy) };
  const found = await compare([first, { code, bindings: bindingsOf(policy) }], requests, TURNS);
  for (const [i, { us, addedUs, ratio }] of found.entries()) {
    rows.push([title, String(CHUNKS[i]), (us / 1_000).toFixed(1), (addedUs / 1_000).toFixed(1), ratio.toFixed(3)]);
  }
}
const than = before ?? "without a meter";
console.log(markdownTable(["stream", "bytes of a chunk", "ms for 1 MiB", `more than ${than}, ms`, "ratio"], rows));
