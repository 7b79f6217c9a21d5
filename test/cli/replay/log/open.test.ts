/** Files: packed, rotated, of several servers, damaged, and in whatever pieces the system reads them. */

import { chmodSync } from "node:fs";
import { join } from "node:path";
import { constants, gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Failure, Misuse } from "../../../../src/cli/io.ts";
import type { LoggedRequest } from "../../../../src/cli/replay/log/format.ts";
import { draws } from "../../../support/cases/draws.ts";
import { folderWith } from "../../../support/folder.ts";
import { accessLine, readFiles, readText } from "./read-log.ts";

const T = Date.UTC(2026, 10, 22, 20);
const paths = (entries: readonly LoggedRequest[]) => entries.map(({ head }) => new URL(head.url).pathname);
/** Lines of the seconds from..to, not including the last one. Their paths are `/from` and so on. */
const lines = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => accessLine(T + (from + i) * 1000, `/${from + i}`)).join("");
const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `/${from + i}`);

describe("files", () => {
  it("are read in the order of time, packed or not, in whatever order they are named", async () => {
    const members = Buffer.concat([gzipSync(lines(0, 10)), gzipSync(lines(10, 20))]);
    const cwd = folderWith({ "access.log.2.gz": members, "access.log.1": lines(20, 30), "access.log": lines(30, 40) });
    const { entries, log } = await readFiles(["access.log.1", "access.log", "access.log.2.gz"], { cwd });
    expect(paths(entries)).toEqual(numbered(0, 40));
    const bytes = members.length + lines(20, 40).length;
    expect(log.facts).toMatchObject({ files: 3, bytes, totalBytes: bytes, lines: 40 });
  });

  it("of several servers are merged line by line", async () => {
    const every = (n: number, first: number) =>
      numbered(0, 3000)
        .filter((_, i) => i % n === first)
        .map((path) => accessLine(T + Number(path.slice(1)) * 1000, path));
    const cwd = folderWith({ a: every(3, 0).join(""), b: gzipSync(every(3, 1).join("")), c: every(3, 2).join("") });
    const { entries } = await readFiles(["c", "a", "b"], { cwd });
    expect(paths(entries)).toEqual(numbered(0, 3000));
  });

  it("may have different formats", async () => {
    const EdgeStartTimestamp = new Date(T + 500).toISOString();
    const record = { EdgeStartTimestamp, ClientRequestURI: "/between", ClientRequestHost: "a.example" };
    const cwd = folderWith({ a: lines(0, 2), b: JSON.stringify(record) });
    const { entries, log } = await readFiles(["a", "b"], { cwd });
    expect(paths(entries)).toEqual(["/0", "/between", "/1"]);
    expect(log.lacks("host")).toBe("$host");
    expect(log.lacks("method")).toBe("ClientRequestMethod");
    expect(log.isRecorded).toBe(false);
  });

  it("are read once, also if they are named twice", async () => {
    const cwd = folderWith({ "a.log": lines(0, 2) });
    expect(paths((await readFiles(["a.log", "a.log"], { cwd })).entries)).toEqual(["/0", "/1"]);
  });

  it("that are empty are told", async () => {
    const cwd = folderWith({ a: "", b: "\n\r\n", c: gzipSync(""), d: lines(0, 1) });
    const { entries, log } = await readFiles(["a", "b", "c", "d"], { cwd });
    expect(paths(entries)).toEqual(["/0"]);
    expect([...log.facts.notes].slice(0, 3)).toEqual(["a is empty.", "b is empty.", "c is empty."]);
  });

  it("that cannot be opened are an error that names them", async () => {
    const cwd = folderWith({ secret: lines(0, 1), zipped: Buffer.from("PK\u0003\u0004\u0000\u0000") });
    const failure = (name: string) => readFiles([name], { cwd }).catch((error: Error) => error);
    const messages = {
      missing: "missing: there is no such file.",
      zipped: "zipped: none of its first lines is in a known format. The formats that replay reads: headgate, logpush,",
    };
    for (const [name, message] of Object.entries(messages)) {
      const error = await failure(name);
      expect(error).toBeInstanceOf(name === "zipped" ? Failure : Misuse);
      expect((error as Error).message).toContain(message);
    }
    chmodSync(join(cwd, "secret"), 0);
    // Root reads everything.
    if (process.getuid?.() !== 0)
      expect(String(await failure("secret"))).toContain("secret: it cannot be read (EACCES).");
  });
});

describe("lines", () => {
  it("end with or without return, the last one with nothing", async () => {
    const text = `\uFEFF${lines(0, 3).replaceAll("\n", "\r\n")}\n${lines(3, 4).trim()}`;
    const { entries, log } = await readText(text);
    expect(paths(entries)).toEqual(numbered(0, 4));
    expect(log.facts).toMatchObject({ lines: 5, damaged: 0, totalBytes: Number.NaN });
  });

  it("may have bytes that are no UTF-8", async () => {
    const bytes = Buffer.concat([
      Buffer.from(lines(0, 1)),
      Buffer.from('192.0.2.1 - - [22/Nov/2026:20:00:01 +0000] "GET /\xff\xc3 HTTP/1.1" 200 1 "-" "\xe9"\n', "latin1"),
    ]);
    const { entries, log } = await readText(bytes);
    expect(paths(entries)).toEqual(["/0", "/%EF%BF%BD%EF%BF%BD"]);
    expect(entries[1]?.head.headers.get("user-agent")).toBe("\uFFFD");
    expect(log.facts.damaged).toBe(0);
  });

  it("that are longer than 1 MiB are skipped and said, wherever they are", async () => {
    const long = `${"x".repeat(1024 * 1024 + 1)}\n`;
    const { entries, log } = await readText(`${long}${lines(0, 2)}${long}${lines(2, 5)}${long.trim()}`);
    expect(paths(entries)).toEqual(numbered(0, 5));
    expect(log.facts.damaged).toBe(3);
    const note = "3 lines could not be read, and are left out. First: line 1: it is longer";
    expect([...log.facts.notes].join()).toContain(note);
  });

  it("that are damaged are counted, the first one is named, never shown", async () => {
    const damaged = ["203.0.113.9 - secret", '203.0.113.9 - - [22/Nov/2026:20:00:61 +0000] "GET', "x", "y", "z", "{}"];
    const { entries, log } = await readText(lines(0, 8) + damaged.join("\n"));
    expect(entries).toHaveLength(8);
    expect(log.facts.damaged).toBe(6);
    expect([...log.facts.notes].join()).toContain("First: line 9: it has no time");
    expect([...log.facts.notes].join()).not.toMatch(/203|secret/);
  });

  it("that mostly cannot be read are an error", async () => {
    const damaged = (share: number) => numbered(0, 2000).map((_, i) => (i % 10 < share ? "secret\n" : lines(i, i + 1)));
    await expect(readText(damaged(5).join(""))).resolves.toBeDefined();
    const error = await readText(lines(0, 1) + damaged(6).join("")).catch((error: Error) => error);
    expect(error).toBeInstanceOf(Failure);
    expect(String(error)).toContain("standard input: most lines cannot be read as combined (line 2: it has no time");
    expect(String(error)).not.toContain("secret");
    await expect(readText(lines(0, 3), "logpush")).rejects.toThrow("most lines cannot be read as logpush");
  });
});

describe("gzip", () => {
  const text = lines(0, 2000);
  const packed = gzipSync(text);

  it("that ends early gives what was readable", async () => {
    for (const share of [0.2, 0.5, 0.9]) {
      const part = packed.subarray(0, Math.floor(packed.length * share));
      const readable = gunzipSync(part, { finishFlush: constants.Z_SYNC_FLUSH }).toString();
      const cwd = folderWith({ "a.gz": part, b: lines(2000, 2001) });
      const { entries, log } = await readFiles(["a.gz", "b"], { cwd });
      const whole = readable.split("\n").length - 1;
      expect(whole).toBeGreaterThan(100);
      expect(paths(entries)).toEqual([...numbered(0, whole), "/2000"]);
      expect(log.facts.incomplete).toEqual(["a.gz: its gzip data end too early"]);
    }
  });

  it("with a wrong checksum gives what came before its last 16 KiB", async () => {
    const wrong = Buffer.from(packed);
    wrong[wrong.length - 8]! ^= 1;
    const { entries, log } = await readText(wrong);
    expect(paths(entries)).toEqual(numbered(0, entries.length));
    expect(lines(entries.length, 2000).length).toBeLessThanOrEqual(16 * 1024);
    expect(log.facts.incomplete).toEqual(["the standard input: its gzip data are damaged"]);
  });

  it("may have zeros after it, and other bytes are damage", async () => {
    const small = gzipSync(lines(0, 3));
    for (const padding of [1, 8, 300_000]) {
      const padded = await readText(Buffer.concat([small, Buffer.alloc(padding)]));
      expect(paths(padded.entries)).toEqual(numbered(0, 3));
      expect(padded.log.facts.incomplete).toEqual([]);
    }
    const { log } = await readText(Buffer.concat([small, Buffer.from("more, and still more")]));
    expect(log.facts.incomplete).toEqual(["the standard input: its gzip data are damaged"]);
  });

  it("that shows no line because it is damaged is not called empty", async () => {
    const flipped = Buffer.from(packed).fill(0xff, 12, 40);
    for (const bytes of [flipped, packed.subarray(0, 60), packed.subarray(0, 10)]) {
      const { entries, log } = await readFiles(["a.gz", "b"], { cwd: folderWith({ "a.gz": bytes, b: lines(0, 1) }) });
      expect(paths(entries)).toEqual(["/0"]);
      expect(log.facts.incomplete).toEqual([expect.stringMatching(/^a.gz: its gzip data /)]);
      expect([...log.facts.notes].join()).not.toContain("empty");
    }
  });
});

describe("order", () => {
  it("is restored where lines are somewhat late", async () => {
    const late = (second: number) => (second % 50 === 7 ? second + 40 : second) * 1000;
    const seconds = Array.from({ length: 5000 }, (_, i) => i).sort((a, b) => late(a) - late(b));
    const { entries } = await readText(seconds.map((i) => accessLine(T + i * 1000, `/${i}`)).join(""));
    expect(paths(entries)).toEqual(numbered(0, 5000));
  });

  it("is that of the true instants where a line of one of several files has a wrong one", async () => {
    const wrong = accessLine(Date.UTC(2099), "/wrong");
    const each = numbered(0, 20_000).map((path, i) => accessLine(T + i * 500, path));
    const [even, odd] = [0, 1].map((rest) => each.filter((_, i) => i % 2 === rest));
    const cwd = folderWith({ a: even!.toSpliced(100, 0, wrong).join(""), b: odd!.join("") });
    const { entries } = await readFiles(["a", "b"], { cwd });
    expect(entries.filter(({ atMs }, i) => i > 0 && atMs < entries[i - 1]!.atMs)).toEqual([]);
    expect(entries.findIndex(({ head }) => head.url.endsWith("/wrong"))).toBe(20_000);
  });

  it("has an end: entries that stand far behind later ones come late", async () => {
    const cwd = folderWith({ a: lines(100, 60_000) + lines(0, 100) });
    const { entries } = await readFiles(["a"], { cwd });
    let [reachedMs, late] = [0, 0];
    for (const { atMs } of entries) {
      if (atMs < reachedMs) late++;
      reachedMs = Math.max(reachedMs, atMs);
    }
    expect([entries.length, late]).toEqual([60_000, 100]);
  });
});

it("the same entries come from any pieces of the bytes", async () => {
  const text = `\uFEFF${lines(0, 3)}caf\u00e9 \u{1F600}\r\n\r\n${lines(3, 6).replaceAll("\n", "\r\n")}${lines(6, 7).trim()}`;
  const outcome = async (chunks: readonly Uint8Array[]) => {
    const { entries, log } = await readFiles(["-"], { stdin: chunks });
    return { paths: paths(entries), facts: log.facts };
  };
  for (const bytes of [Buffer.from(text), gzipSync(text)]) {
    const whole = await outcome([bytes]);
    expect(whole.paths).toEqual(numbered(0, 7));
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat(bytes.length), { maxLength: 20 }), async (cuts) => {
        const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        const chunks = edges.slice(1).map((edge, i) => bytes.subarray(edges[i], edge));
        expect(await outcome(chunks)).toEqual(whole);
      }),
      draws(60),
    );
  }
});
