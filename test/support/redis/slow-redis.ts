// The REST service that all tests share, behind a proxy that holds its answers back until a test wants them.

import { inject } from "vitest";
import { startOrigin } from "../gateway/origin-server.ts";

export interface SlowRedis {
  readonly rest: { readonly url: string; readonly token: string };
  /** Resolves when the first command has run. Its answer is still held back. */
  readonly done: Promise<void>;
  /** Lets all answers arrive from now on. */
  answer(): void;
}

export async function startSlowRedis(): Promise<SlowRedis> {
  const [done, wanted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const proxy = await startOrigin(async (request, response) => {
    const body = await new Response(request as unknown as BodyInit).text();
    const headers = { Authorization: request.headers.authorization ?? "" };
    const answer = await fetch(`${inject("restUrl")}${request.url}`, { method: "POST", headers, body });
    const text = await answer.text();
    done.resolve();
    await wanted.promise;
    response.writeHead(answer.status, { "Content-Type": "application/json" }).end(text);
  });
  return { rest: { url: proxy.url, token: inject("restToken") }, done: done.promise, answer: wanted.resolve };
}
