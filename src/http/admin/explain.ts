/** `/explain`: what the token of a refusal tells. */

import type { ReadExplanation } from "../explain/explain.ts";
import { answer, badRequest, notFound } from "./answer.ts";
import type { AdminApp } from "./calls.ts";

const WRONG = {
  old: "This token is older than 10 minutes.",
  foreign: "This is not a token of this gateway: it was changed or cut off, or made under another key secret.",
};

/** @param read absent: refusals carry no tokens. */
export function serveExplain(app: AdminApp, read: ReadExplanation | undefined): void {
  app.get("/explain", async (c) => {
    if (!read) return notFound("EXPLAIN is off: this gateway's refusals carry no tokens.");
    const token = c.req.query("token");
    if (!token) return badRequest("Expected ?token=, the field Headgate-Explain of a refusal.");
    const found = await read(token);
    return "wrong" in found ? badRequest(WRONG[found.wrong]) : answer(found);
  });
}
