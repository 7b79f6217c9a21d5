import { describe, expect, it } from "vitest";
import { prefersHtml } from "../../src/http/problem.ts";

const accepting = (accept: string) =>
  prefersHtml(new Request("https://gate.example/", { headers: { Accept: accept } }));
const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";

describe("a page in place of JSON", () => {
  it("is for a browser's Accept", () => {
    expect([accepting(BROWSER), accepting("*/*"), accepting("text/html, application/json")]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it("is not for one of 64 KiB, which takes ms to take apart", () => {
    expect(accepting(`${BROWSER},${"a/b,".repeat(16_384)}`)).toBe(false);
  });
});
