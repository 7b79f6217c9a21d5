/** `headgate admin stats`: what all isolates have counted. */

import type { Command } from "commander";
import { isTable } from "../../config/bindings.ts";
import { Misuse } from "../io.ts";
import { line } from "../printable.ts";
import { table } from "../table.ts";
import { type Answer, callAdmin } from "./api.ts";
import { type AdminOptions, addCommand, type Perform } from "./perform.ts";
import { tablesIn } from "./show.ts";

const MAX_MINUTES = 43_200;
/** Clients that are shown of each policy. */
const MOST = 5;

export function addStats(admin: Command, perform: Perform): void {
  addCommand(admin, "stats", "requests by policy and outcome, and the clients with most refusals")
    .option("--minutes <number>", `the last minutes: 1 to ${MAX_MINUTES}, which is 30 days`, "60")
    .action((options: AdminOptions & { readonly minutes: string }) => {
      const minutes = /^\d{1,5}$/.test(options.minutes) ? Number(options.minutes) : 0;
      if (minutes < 1 || minutes > MAX_MINUTES) {
        throw new Misuse(`--minutes: expected an integer from 1 to ${MAX_MINUTES}`);
      }
      const call = { method: "GET", path: "/stats", search: { minutes: String(minutes) }, answers: "points" } as const;
      return perform(options, (access) => callAdmin(access, call), statsText);
    });
}

function statsText(body: Answer["body"]): string {
  const sums = new Map<string, { readonly names: unknown[]; count: number }>();
  for (const { policy, outcome, source, count } of tablesIn(body, "points")) {
    const names = [policy, outcome, source];
    const sum = sums.get(names.join(" ")) ?? { names, count: 0 };
    sum.count += Number(count);
    sums.set(names.join(" "), sum);
  }
  const rows = [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { names, count }]) => [...names, count]);
  const clients = Object.entries(isTable(body.top) ? body.top : {}).flatMap(([policy, list]) =>
    (Array.isArray(list) ? list.filter(isTable) : []).slice(0, MOST).map(({ key, refused }) => [policy, key, refused]),
  );
  const heard = typeof body.heard === "string" ? line(`heard last: ${body.heard}`) : "nothing was heard yet\n";
  return [
    heard,
    rows.length > 0 ? `\n${table(["policy", "outcome", "source", "requests"], rows)}` : "",
    clients.length > 0 ? `\n${table(["policy", "client", "refused"], clients)}` : "",
  ].join("");
}
