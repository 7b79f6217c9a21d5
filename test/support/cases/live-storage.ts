// What every place of the live document must do: the memory, Redis, and the Durable Object.

import { expect, it } from "vitest";
import { readLive } from "../../../src/features/live/document.ts";
import type { LiveStorage } from "../../../src/kernel/store/live.ts";

/** Every kind of character that JSON, HTTP, Lua or SQLite could treat in its own way. */
const CHARACTERS =
  "\0\u0001\t\n\r \"'\\/{}[]%\u007f\u0080é\u0301ß漢字\u2028\u2029\ufeff\ufffd\uffff😀👩‍👩‍👧‍👦\u{10ffff}";

/** A text of this many bytes in UTF-8. */
function textOf(bytes: number): string {
  const bytesOf = (text: string) => new TextEncoder().encode(text).byteLength;
  const text = CHARACTERS.repeat(Math.floor(bytes / bytesOf(CHARACTERS)));
  return text + "x".repeat(bytes - bytesOf(text));
}

/** @param open a storage without a document, which no other test uses. */
export function describeLiveStorage(open: () => LiveStorage | Promise<LiveStorage>): void {
  it("has no document at first, and its version is 0", async () => {
    const storage = await open();
    expect(await storage.read()).toEqual({ version: 0, text: undefined });
    expect(await storage.read(0)).toBeUndefined();
    expect(await storage.read(3)).toEqual({ version: 0, text: undefined });
  });

  it("gives the document to all who have another version", async () => {
    const storage = await open();
    expect(await storage.write("one", 0)).toBe(1);
    for (const known of [undefined, 0, 2, 7]) expect(await storage.read(known)).toEqual({ version: 1, text: "one" });
    expect(await storage.read(1)).toBeUndefined();
    expect(await storage.write("two", 1)).toBe(2);
    expect(await storage.read(1)).toEqual({ version: 2, text: "two" });
    expect(await storage.read(2)).toBeUndefined();
  });

  it("keeps a document for each namespace", async () => {
    const storage = await open();
    const namespace = `ns-${Math.random().toString(36).slice(2, 12)}`;
    const capital = namespace.replace("ns", "Ns");
    expect(await storage.write("of none", 0)).toBe(1);
    expect(await storage.write("of another", 0, capital)).toBe(1);
    expect(await storage.read(undefined, undefined, namespace)).toEqual({ version: 0, text: undefined });
    expect(await storage.write("x", 1, namespace)).toBeUndefined();
    expect(await storage.write("one", 0, namespace)).toBe(1);
    expect(await storage.write("two", 1, namespace)).toBe(2);
    expect(await storage.read(1, undefined, namespace)).toEqual({ version: 2, text: "two" });
    expect(await storage.read(2, undefined, namespace)).toBeUndefined();
    expect([await storage.read(), await storage.read(1)]).toEqual([{ version: 1, text: "of none" }, undefined]);
    expect(await storage.read(undefined, undefined, capital)).toEqual({ version: 1, text: "of another" });
  });

  it("replaces only the version that the writer has seen", async () => {
    const storage = await open();
    expect(await storage.write("x", 1)).toBeUndefined();
    expect(await storage.read()).toEqual({ version: 0, text: undefined });
    await storage.write("one", 0);
    await storage.write("two", 1);
    for (const version of [0, 1, 3, 2 ** 40]) expect(await storage.write("x", version)).toBeUndefined();
    expect(await storage.read()).toEqual({ version: 2, text: "two" });
  });

  it("lets one of several writers win, each time, and loses nothing", async () => {
    const storage = await open();
    for (let version = 0; version < 5; version++) {
      const texts = ["a", "b", "c", "d"].map((name) => `${name}${version}`);
      const written = await Promise.all(texts.map((text) => storage.write(text, version)));
      expect(written.filter((one) => one !== undefined)).toEqual([version + 1]);
      const text = texts[written.indexOf(version + 1)];
      expect(await storage.read()).toEqual({ version: version + 1, text });
    }
  });

  it.each(["", "0", "123", "true", "null", '"text"', "[1,2]", '{"a":1}', "1e999", " \n"])(
    "gives back the text %j as it is",
    async (text) => {
      const storage = await open();
      await storage.write(text, 0);
      expect(await storage.read()).toEqual({ version: 1, text });
    },
  );

  it("holds 256 KiB of any characters", async () => {
    const storage = await open();
    for (const [version, text] of [textOf(262_144), JSON.stringify(textOf(200_000)), textOf(1_000)].entries()) {
      expect(await storage.write(text, version)).toBe(version + 1);
      const read = await storage.read(version);
      // A difference in such a text is not worth printing.
      expect([read?.version, read?.text === text]).toEqual([version + 1, true]);
    }
  });

  it("holds a document with half a character in a note", async () => {
    const storage = await open();
    const document = { policies: {}, overrides: [{ policy: "api", kind: "ip", key: "k", note: "\ud83d half" }] };
    await storage.write(JSON.stringify(document), 0);
    expect(readLive((await storage.read())!.text!)).toEqual(document);
  });
}
