// The diff that an operator sees before a change is sent: it must give both texts back, and be short.

import fc from "fast-check";
import { expect, it } from "vitest";
import { differences } from "../../console/src/changes/change.ts";
import { draws } from "../support/cases/draws.ts";

const shown = (before: string, after: string) =>
  differences(before, after).map(({ is, text }) => `${{ same: " ", gone: "-", new: "+" }[is]}${text}`);

it("shows what goes and what comes, and what stays around it", () => {
  expect(shown("{\n  a: 1,\n  b: 2\n}", "{\n  a: 1,\n  b: 3,\n  c: 4\n}")).toEqual([
    ...["{", "  a: 1,"].map((line) => ` ${line}`),
    ...["-  b: 2", "+  b: 3,", "+  c: 4", " }"],
  ]);
  expect(shown("", "x")).toEqual(["+x"]);
  expect(shown("x", "")).toEqual(["-x"]);
});

it("holds both texts, line by line", () => {
  const text = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 12 }).map((lines) => lines.join("\n"));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = differences(before, after);
      const without = (left: string) => lines.filter(({ is }) => is !== left).map((line) => line.text);
      expect(without("new").join("\n")).toBe(before);
      expect(without("gone").join("\n")).toBe(after);
    }),
    draws(100),
  );
});

it("stays quick with two long texts that have nothing in common", () => {
  const long = (word: string) => Array.from({ length: 5_000 }, (_, i) => `${word} ${i}`).join("\n");
  expect(differences(long("a"), long("b"))).toHaveLength(10_000);
});
