/** The live document in the object that counts: one row. */

import { isCount } from "../core/algorithm.ts";
import type { LiveText } from "./live.ts";

const SCHEMA =
  "CREATE TABLE IF NOT EXISTS live (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, text TEXT NOT NULL)";
const READ = "SELECT version, text FROM live";
const WRITE = `
  INSERT INTO live (id, version, text) VALUES (1, ?, ?)
  ON CONFLICT (id) DO UPDATE SET version = excluded.version, text = excluded.text`;

export class ObjectLive {
  readonly #sql: SqlStorage;
  /** Undefined: not read yet. Every reply tells the version, and must not read a row for it. */
  #live: LiveText | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
  }

  read(): LiveText {
    this.#live ??= this.#readRow();
    return this.#live;
  }

  /** A version that is damaged counts as 0, as in Redis (lua/live.lua): the next change repairs it. */
  #readRow(): LiveText {
    const { version, text } = this.#sql.exec<Record<keyof LiveText, SqlStorageValue>>(READ).toArray()[0] ?? {};
    return { version: isCount(version) ? version : 0, text: typeof text === "string" ? text : undefined };
  }

  /** Returns the new version; undefined: there is another version by now, and nothing was written. */
  write(text: string, version: number, next = version + 1): number | undefined {
    if (this.read().version !== version) return undefined;
    this.#sql.exec(WRITE, next, text);
    this.#live = { version: next, text };
    return next;
  }
}
