import { expect, it, vi } from "vitest";
import { errorResponse, ProblemType, prefersHtml, problemResponse } from "../../../src/kernel/http/problem.ts";

const accepting = (accept: string) =>
  prefersHtml(new Request("https://gate.example/", { headers: { Accept: accept } }));
const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";

it("a page in place of JSON is for a browser's Accept, and not for one of 64 KiB, which takes ms to take apart", () => {
  const accepts = [BROWSER, "*/*", "text/html, application/json", `${BROWSER},${"a/b,".repeat(16_384)}`];
  expect(accepts.map(accepting)).toEqual([true, false, false, false]);
});

it.each([
  ["Quota Exceeded", 429, "rate_limit", "quota_exceeded"],
  ["Temporary Reduced Capacity", 503, "overloaded", "temporary_reduced_capacity"],
  ["Blocked", 403, "permission", "blocked"],
  ["Bad Gateway", 502, "api", "bad_gateway"],
])("%s has the sentence where SDKs look for it", async (title, status, type, code) => {
  const problem = { type: ProblemType.blank, title, status, detail: "A sentence." };
  const answer = problemResponse(new Request("https://gate.example/"), problem);
  expect(await answer.json()).toEqual({
    ...problem,
    message: "A sentence.",
    error: { message: "A sentence.", type, code },
  });
});

it("has the fields of no other answer where a Response keeps the Headers that it gets, as that of @hono/node-server", () => {
  class KeepingResponse extends Response {
    readonly #given: HeadersInit | undefined;
    constructor(body?: BodyInit | null, init?: ResponseInit) {
      super(body, init);
      this.#given = init?.headers;
    }
    override get headers() {
      return this.#given instanceof Headers ? this.#given : super.headers;
    }
  }
  vi.stubGlobal("Response", KeepingResponse);
  const problem = { type: ProblemType.blank, title: "Quota Exceeded", status: 429, detail: "A sentence." };
  const fromPage = new Request("https://gate.example/", { headers: { Origin: "https://page.example" } });
  const first = problemResponse(fromPage, problem, { "X-Should-Retry": "false" });
  first.headers.set("RateLimit", '"api";r=0');
  const { headers } = problemResponse(new Request("https://gate.example/"), problem);
  vi.unstubAllGlobals();
  expect([...headers.keys()]).toEqual(["cache-control", "content-type", "vary"]);
  expect(headers.get("Vary")).toBe("Accept");
});

it("keeps the fields of a hundred forms, or twice as many: clients may choose the type of an answer", () => {
  let made = 0;
  class CountedHeaders extends Headers {
    constructor(init?: HeadersInit) {
      super(init);
      // Not a copy: a test before this one may have loaded @hono/node-server, whose Response needs one for each answer.
      if (init && "Cache-Control" in init) made++;
    }
  }
  vi.stubGlobal("Headers", CountedHeaders);
  /** Whether the fields are made anew. */
  const answer = (i: number) => {
    const [before, form] = [made, { "Content-Type": `application/grpc+a${i}` }];
    errorResponse(new Request("https://gate.example/"), { status: 429, body: "", form }, {}, {});
    return made > before;
  };
  for (let i = 0; i < 300; i++) answer(i);
  expect([answer(299), answer(0)]).toEqual([false, true]);
});
