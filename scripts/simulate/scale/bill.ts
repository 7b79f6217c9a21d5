/** What counting costs per month, by price lists. bench/results/objects.md names the source and date of each price. */

/** Cloudflare's prices for Durable Objects on the Workers Paid plan, in dollars, and what the plan includes. */
export const OBJECTS = {
  includedRequests: 1e6,
  perRequest: 0.15 / 1e6,
  includedRowsWritten: 50e6,
  perRowWritten: 1 / 1e6,
  includedRowsRead: 25e9,
  perRowRead: 0.001 / 1e6,
  includedGbSeconds: 400_000,
  perGbSecond: 12.5 / 1e6,
  gbOfObject: 0.128,
} as const;

/** What the Workers Free plan allows in a day. */
export const FREE_DAY = { requests: 100_000, rowsWritten: 100_000, rowsRead: 5e6, gbSeconds: 13_000 } as const;

/** Upstash Redis. A fixed plan has a price, and bandwidth in GB instead of a number of commands. */
export const UPSTASH = {
  freeCommands: 500_000,
  perCommand: 0.2 / 1e5,
  commandsPerSecond: 10_000,
  fixed: [
    { dollars: 10, gb: 50 },
    { dollars: 20, gb: 100 },
    { dollars: 100, gb: 500 },
    { dollars: 200, gb: 1_000 },
    { dollars: 400, gb: 5_000 },
  ],
} as const;

/** What one call is billed as. test/worker/durable-object-rows.test.ts counts the rows, the benchmarks the commands. */
export const UNITS = {
  rowsRead: { known: 1, first: 1 },
  rowsWritten: { known: 1, first: 2, moved: 2, removed: 1 },
  commands: { admitted: 4, refused: 3 },
} as const;

/** Assumed, not measured: what a call to Upstash sends and receives, headers included. */
const BYTES_PER_CALL = 500;

const DAYS = 30;
const MONTH_SECONDS = DAYS * 86_400;
/** The object wakes at most once a minute to remove rows: each time is a request and a written row. */
const ALARMS_PER_DAY = 1_440;

export interface Use {
  /** Calls to the store in a month. All are admitted. */
  readonly calls: number;
  /** Written rows of one call: 1 for a key that is known, 3 for one that is new and expires again. */
  readonly rowsPerCall: number;
  readonly objects: number;
}

const above = (used: number, included: number) => Math.max(0, used - included);

/**
 * Dollars a month on the paid plan, without its $5. Objects are assumed to be awake all month: they cannot cost more.
 */
export function objectsBill({ calls, rowsPerCall, objects }: Use): number {
  const alarms = objects * DAYS * ALARMS_PER_DAY;
  const gbSeconds = objects * MONTH_SECONDS * OBJECTS.gbOfObject;
  return (
    above(calls + alarms, OBJECTS.includedRequests) * OBJECTS.perRequest +
    above(calls * rowsPerCall + alarms, OBJECTS.includedRowsWritten) * OBJECTS.perRowWritten +
    above(calls * UNITS.rowsRead.known, OBJECTS.includedRowsRead) * OBJECTS.perRowRead +
    above(gbSeconds, OBJECTS.includedGbSeconds) * OBJECTS.perGbSecond
  );
}

/** What requests ask of the store, on average. */
export interface Asked {
  /** Admitted calls per request. */
  readonly admitted: number;
  /** Refused calls per request. */
  readonly refused: number;
  /** Keys of a decision: one for each policy and scope. */
  readonly keys: number;
}

/** Dollars for a million requests, above what the plans include. Alarms and the time of the object are left out. */
export function perMillion({ admitted, refused, keys }: Asked) {
  const { first, known, removed } = UNITS.rowsWritten;
  const object = (rows: number) =>
    1e6 * ((admitted + refused) * OBJECTS.perRequest + admitted * keys * rows * OBJECTS.perRowWritten);
  const commands = admitted * (UNITS.commands.admitted + keys - 1) + refused * UNITS.commands.refused;
  return { known: object(known), new: object(first + removed), upstash: 1e6 * commands * UPSTASH.perCommand };
}

/** The calls to one object in a day that the Workers Free plan allows. */
export function freeCallsPerDay(rowsPerCall: number): number {
  const rows = (FREE_DAY.rowsWritten - ALARMS_PER_DAY) / rowsPerCall;
  return Math.floor(Math.min(FREE_DAY.requests - ALARMS_PER_DAY, rows));
}

export function upstashPayAsYouGo(calls: number): number {
  const commands = calls * UNITS.commands.admitted;
  return commands <= UPSTASH.freeCommands ? 0 : commands * UPSTASH.perCommand;
}

/** The cheapest fixed plan with enough bandwidth. undefined: none of those that are listed here. */
export function upstashFixed(calls: number): number | undefined {
  const gb = (calls * BYTES_PER_CALL) / 1e9;
  return UPSTASH.fixed.find((plan) => plan.gb >= gb)?.dollars;
}
