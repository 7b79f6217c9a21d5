import { describe, expect, it } from "vitest";
import { ProblemType, prefersHtml, problemResponse } from "../../src/http/problem.ts";

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

it.each([
  ["Quota Exceeded", 429, "rate_limit", "quota_exceeded"],
  ["Temporary Reduced Capacity", 503, "overloaded", "temporary_reduced_capacity"],
  ["Blocked", 403, "permission", "blocked"],
  ["Bad Gateway", 502, "api", "bad_gateway"],
])("%s has the sentence where SDKs look for it", async (title, status, type, code) => {
  const problem = { type: ProblemType.blank, title, status, detail: "A sentence." };
  const answer = problemResponse(new Request("https://gate.example/"), problem);
  expect(await answer.json()).toEqual({ ...problem, error: { message: "A sentence.", type, code } });
});
