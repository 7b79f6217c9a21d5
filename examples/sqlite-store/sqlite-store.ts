// A store of your own: docs/stores.md explains it. It counts for all processes of one machine.

import { DatabaseSync } from "node:sqlite";
import { type Store, StoreError, takeFrom } from "headgate";

export function sqliteStore(path: string, keySecret: string): Store & { sweep(): void } {
  const db = new DatabaseSync(path, { timeout: 100 });
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS counts (key TEXT PRIMARY KEY, text TEXT, expires_at INTEGER) WITHOUT ROWID`);
  const read = db.prepare("SELECT text FROM counts WHERE key = ?");
  const write = db.prepare("REPLACE INTO counts VALUES (?, ?, ?)");
  const remove = db.prepare("DELETE FROM counts WHERE key = ?");

  function inTransaction<T>(work: () => T): T {
    try {
      db.exec("BEGIN IMMEDIATE");
    } catch {
      // Another process has held the lock for 100 ms: nothing was counted.
      throw new StoreError("OVERLOADED");
    }
    try {
      const result = work();
      db.exec("COMMIT");
      return result;
    } catch (error) {
      db.exec("ROLLBACK");
      throw error;
    }
  }

  return {
    kind: "sqlite",
    keySecret,

    async take(request, nowMs = Date.now()) {
      return inTransaction(() => {
        const textOf = (key: string) => read.get(key)?.text as string | undefined;
        const { reply, writes } = takeFrom(textOf, request, nowMs);
        for (const { key, text, expiryMs } of writes) {
          if (text === undefined) remove.run(key);
          else write.run(key, text, nowMs + expiryMs);
        }
        return reply;
      });
    },

    async reset(keys) {
      inTransaction(() => keys.forEach((key) => void remove.run(key)));
    },

    async ping() {
      db.exec("SELECT 1");
    },

    /** Removes what has expired. Call it now and then: an expired text is as good as none, and only takes room. */
    sweep() {
      db.prepare("DELETE FROM counts WHERE expires_at <= ?").run(Date.now());
    },
  };
}
