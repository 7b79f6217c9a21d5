// How a long log is divided into rows: what is written, and that the whole log can be read from it.

import fc from "fast-check";
import { expect, it } from "vitest";
import { type Log, type LogEntry, slidingLog } from "../../../src/kernel/core/sliding-log.ts";
import { arrangeLog, CHUNK_ENTRIES, type LogLayout, UNDIVIDED } from "../../../src/kernel/store/log-chunks.ts";
import { draws } from "../../support/cases/draws.ts";

/** A log, and the rows that a storage would hold of it. */
function startLog() {
  const chunks = new Map<number, Log>();
  let newest: Log = [];
  let [log, layout]: [Log, LogLayout] = [[], UNDIVIDED];
  return {
    /** @returns how many chunks were written. */
    change(after: Log, mayDivide = true): number {
      const arranged = arrangeLog(log, layout, after, mayDivide);
      for (const { number, entries } of arranged.written) chunks.set(number, entries);
      ({ layout, newest } = arranged);
      log = after;
      return arranged.written.length;
    },
    get log() {
      return log;
    },
    get newest() {
      return newest;
    },
    get layout() {
      return layout;
    },
    /** As it is read from the rows. */
    stored(): Log {
      const { from, chunks: count, gone } = layout;
      return [
        ...Array.from({ length: count }, (_, i) => chunks.get(from + i)!)
          .flat()
          .slice(gone),
        ...newest,
      ];
    },
  };
}

let madeAtMs = 0;
const entriesOf = (count: number) => Array.from({ length: count }, (): LogEntry => ({ atMs: madeAtMs++, cost: 2 }));

it("writes every entry into a chunk once, and the newest entries with each charge", () => {
  const log = startLog();
  let written = 0;
  for (let i = 0; i < 1_000; i++) {
    written += log.change([...log.log, ...entriesOf(1)]);
    expect(log.newest.length).toBeLessThan(2 * CHUNK_ENTRIES);
  }
  expect(written).toBe(1_000 / CHUNK_ENTRIES - 1);
  expect(log.stored()).toEqual(log.log);
});

it("has the whole log in its rows after any charges, expiries and give-backs", () => {
  const { pack, unpack } = slidingLog.values!.list!;
  const step = fc.oneof(
    fc.record({ expire: fc.constantFrom(0, 1, 150), charge: fc.integer({ min: 1, max: 250 }) }),
    fc.record({ expire: fc.integer({ min: 0, max: 300 }) }),
    fc.record({ giveBack: fc.nat(), cost: fc.constantFrom(1, 2) }),
  );
  const property = fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
    const log = startLog();
    for (const one of steps) {
      if ("charge" in one) log.change([...log.log.slice(one.expire), ...entriesOf(one.charge)]);
      // A chunk whose last entry has left the log is left behind, and none is written for that.
      else if ("expire" in one) expect(log.change(log.log.slice(one.expire), false)).toBe(0);
      else if (log.log.length > 0) {
        const at = one.giveBack % log.log.length;
        const left = one.cost === 2 ? [] : [{ ...log.log[at]!, cost: 1 }];
        log.change([...log.log.slice(0, at), ...left, ...log.log.slice(at + 1)], false);
      }
      expect(log.stored()).toEqual(log.log);
      expect(log.layout.gone).toBeLessThan(CHUNK_ENTRIES);
      expect(unpack(pack(log.newest))).toEqual(log.newest);
    }
  });
  fc.assert(property, draws(300));
});
