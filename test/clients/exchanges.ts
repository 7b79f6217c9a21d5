// Records this process's requests to a server and their answers from outside the HTTP client, whichever client it is.

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ClientRequest, IncomingMessage } from "node:http";
import { onTestFinished } from "vitest";

/** One request on the wire. A client that tries again makes several per call. Times: `performance.now()`, in ms. */
export interface Exchange {
  readonly sentAtMs: number;
  /** When the header section had arrived. Absent until then, as are the next two. */
  answeredAtMs?: number;
  status?: number;
  /** In whole seconds. */
  retryAfter?: number;
}

/** Messages of undici, both Node's own for `fetch` and the package (undici's documentation, "Diagnostics Channel"). */
type UndiciMessage = { request: { origin: string | URL }; response: { statusCode: number; headers: Buffer[] } };
/** Messages of node:http (Node's documentation, "Diagnostics Channel"). */
type NodeMessage = { request: ClientRequest; response: IncomingMessage };

/** Lists the exchanges with the server at `url`, in order, from now until the running test ends. */
export function watchExchanges(url: URL): readonly Exchange[] {
  const exchanges: Exchange[] = [];
  const byRequest = new WeakMap<object, Exchange>();

  const sent = (request: object, isOurs: boolean) => {
    const exchange = { sentAtMs: performance.now() };
    if (!isOurs) return;
    byRequest.set(request, exchange);
    exchanges.push(exchange);
  };
  const answered = (request: object, status: number, retryAfter: string | undefined) => {
    const exchange = byRequest.get(request);
    if (!exchange) return;
    exchange.answeredAtMs = performance.now();
    exchange.status = status;
    if (retryAfter !== undefined) exchange.retryAfter = Number(retryAfter);
  };

  listen("undici:request:create", ({ request }: UndiciMessage) => sent(request, String(request.origin) === url.origin));
  listen("undici:request:headers", ({ request, response: { statusCode, headers } }: UndiciMessage) => {
    const name = headers.findIndex((text, index) => index % 2 === 0 && /^retry-after$/i.test(text.toString()));
    answered(request, statusCode, name < 0 ? undefined : headers[name + 1]!.toString());
  });
  listen("http.client.request.start", ({ request }: NodeMessage) =>
    sent(request, request.getHeader("host") === url.host),
  );
  listen("http.client.response.finish", ({ request, response }: NodeMessage) =>
    answered(request, response.statusCode!, response.headers["retry-after"]),
  );
  return exchanges;
}

function listen<T>(channel: string, listener: (message: T) => void): void {
  const onMessage = (message: unknown) => listener(message as T);
  subscribe(channel, onMessage);
  onTestFinished(() => void unsubscribe(channel, onMessage));
}
